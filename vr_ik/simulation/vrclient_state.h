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

// The simulated runtime's state in shared memory, written by Python, read by the vrclient library.
//
// state.py mirrors these structures; `size` keeps the two in step. Python is the one writer of
// everything but the `Client` block. A reader copies what it needs between two looks at
// `sequence` (odd: a write is under way) and tries again when it has changed.

#ifndef VR_IK_SIMULATION_VRCLIENT_STATE_H
#define VR_IK_SIMULATION_VRCLIENT_STATE_H

#include <stdatomic.h>
#include <stdint.h>

enum { MAX_DEVICES = 64, EVENT_SLOTS = 256, PULSE_SLOTS = 1024, SETTING_SLOTS = 64 };

// Two ways to crash without a word: poses stand still and properties cannot be read any more,
// or every device is gone while properties still come from a cache.
enum Status { STOPPED = 0, RUNNING = 1, QUITTING = 2, FROZEN = 3, VANISHED = 4 };

enum Hidden { HIDE_SYSTEM = 1, HIDE_SETTINGS = 2 };

typedef struct {
  uint32_t type;
  uint32_t device;
  uint32_t property;
} Event;

typedef struct {
  char key[128];
  char value[128];
} Setting;

typedef struct {
  uint64_t pressed;
  uint64_t touched;
  float axes[5][2];
  uint32_t packet;
  uint32_t device_class;
  uint32_t connected;
  uint32_t pose_valid;
  uint32_t tracking_result;
  uint32_t hand;
  uint32_t has_battery;
  uint32_t charging;
  float battery;
  uint32_t axis_types[5];
  float pose[3][4];
  float velocity[3];
  float angular_velocity[3];
  char serial[64];
  char controller_type[64];
  char registered_type[96];
  char model[64];
} Device;

typedef struct {
  uint32_t device;
  uint32_t axis;
  uint32_t duration_us;
} Pulse;

// What the client has done; written by the client alone.
typedef struct {
  _Atomic uint32_t application_type;
  _Atomic uint32_t sessions_opened;
  _Atomic uint32_t sessions_closed;
  _Atomic uint32_t quits_acknowledged;
  _Atomic uint64_t pulse_count;
  Pulse pulses[PULSE_SLOTS];
} Client;

typedef struct {
  uint32_t size;
  int32_t server_pid;
  _Atomic uint64_t sequence;
  _Atomic uint64_t event_count;
  uint32_t status;
  uint32_t generation;
  uint32_t init_error;
  uint32_t hidden;
  uint32_t init_delay_us;
  uint32_t call_delay_us;
  float standing_from_seated[3][4];
  float standing_from_raw[3][4];
  Event events[EVENT_SLOTS];
  Setting tracker_settings[SETTING_SLOTS];
  Device devices[MAX_DEVICES];
  Client client;
} State;

#endif  // VR_IK_SIMULATION_VRCLIENT_STATE_H
