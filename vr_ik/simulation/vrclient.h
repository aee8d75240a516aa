// Copyright 2026 The vr_ik authors
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
//     http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

// What the parts of the simulated vrclient library share: the session and the server's state.

#ifndef VR_IK_SIMULATION_VRCLIENT_H
#define VR_IK_SIMULATION_VRCLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "vrclient_state.h"

typedef struct {
  State *state;         // NULL while no session is open
  uint32_t generation;  // of the server that the session was opened with
  uint64_t next_event;
} Session;

extern Session session;

extern void *system_table[47];  // IVRSystem_023

enum Status server_status(void);
bool server_answers(void);
void sleep_us(uint32_t duration_us);

#endif  // VR_IK_SIMULATION_VRCLIENT_H
