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

// A vrclient library for the real libopenvr_api, whose devices live in shared memory.
//
// libopenvr_api loads <runtime>/bin/linux64/vrclient.so and asks VRClientCoreFactory for
// IVRClientCore_003, a C++ object: a pointer to a table of methods that take `this` first. The
// interfaces behind it are the C function tables ("FnTable:...") of openvr_capi.h. Only what a
// tracking client needs is here: IVRSystem_023 and the string settings of IVRSettings_003.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "vrclient.h"

enum InitError { INIT_OK = 0, INIT_CORRUPT = 101, INIT_NO_INTERFACE = 105, INIT_NO_SERVER = 121 };
enum SettingsError { SETTING_OK = 0, SETTING_IPC_FAILED = 1, SETTING_UNSET = 5 };

Session session;

void sleep_us(uint32_t duration_us) {
  struct timespec pause = {duration_us / 1000000, (duration_us % 1000000) * 1000L};
  if (duration_us) nanosleep(&pause, NULL);
}

static bool server_lives(const State *state) {
  return kill(state->server_pid, 0) == 0 || errno != ESRCH;
}

enum Status server_status(void) {
  const State *state = session.state;
  if (state->generation != session.generation || !server_lives(state)) return FROZEN;
  return (enum Status)state->status;
}

bool server_answers(void) {
  enum Status status = server_status();
  return status == RUNNING || status == QUITTING;
}

static void get_setting(const char *section, const char *key, char *value, uint32_t size,
                        uint32_t *error) {
  if (size) *value = 0;
  *error = server_answers() ? SETTING_UNSET : SETTING_IPC_FAILED;
  if (!server_answers() || strcmp(section, "trackers") != 0) return;
  for (int i = 0; i < SETTING_SLOTS; ++i) {
    const Setting *setting = &session.state->tracker_settings[i];
    if (*setting->key && strcmp(setting->key, key) == 0) {
      snprintf(value, size, "%s", setting->value);
      *error = SETTING_OK;
    }
  }
}

static void *settings_table[11] = {[8] = get_setting};

// The state file lies in the runtime's folder, two above this library's own.
static State *map_state(void) {
  Dl_info self;
  char path[PATH_MAX];
  if (!dladdr((void *)map_state, &self) || !realpath(self.dli_fname, path)) return NULL;
  for (int up = 0; up < 3; ++up) *strrchr(path, '/') = 0;
  strncat(path, "/state", sizeof path - strlen(path) - 1);
  int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return NULL;
  void *memory = mmap(NULL, sizeof(State), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return memory == MAP_FAILED ? NULL : memory;
}

static uint32_t why_not(const State *state) {
  if (!state || state->size != sizeof(State)) return INIT_CORRUPT;
  if (state->init_error) return state->init_error;
  return state->status == RUNNING && server_lives(state) ? INIT_OK : INIT_NO_SERVER;
}

static uint32_t core_init(void *self, uint32_t application_type, const char *startup_info) {
  (void)self, (void)startup_info;
  State *state = map_state();
  if (state) sleep_us(state->init_delay_us);
  uint32_t error = why_not(state);
  if (error == INIT_OK) {
    uint64_t events = atomic_load(&state->event_count);
    session = (Session){state, state->generation, events};
    atomic_store(&state->client.application_type, application_type);
    atomic_fetch_add(&state->client.sessions_opened, 1);
  } else if (state) {
    munmap(state, sizeof *state);
  }
  return error;
}

static void core_cleanup(void *self) {
  (void)self;
  if (!session.state) return;
  atomic_fetch_add(&session.state->client.sessions_closed, 1);
  munmap(session.state, sizeof *session.state);
  session.state = NULL;
}

static void **find_table(const char *name) {
  const char *version = strncmp(name, "FnTable:", 8) == 0 ? name + 8 : name;
  uint32_t hidden = session.state ? session.state->hidden : 0;
  if (strcmp(version, "IVRSystem_023") == 0 && !(hidden & HIDE_SYSTEM)) return system_table;
  if (strcmp(version, "IVRSettings_003") == 0 && !(hidden & HIDE_SETTINGS)) return settings_table;
  return NULL;
}

static uint32_t core_is_interface_valid(void *self, const char *name) {
  (void)self;
  return find_table(name) ? INIT_OK : INIT_NO_INTERFACE;
}

static void *core_get_interface(void *self, const char *name, uint32_t *error) {
  (void)self;
  void **table = find_table(name);
  if (error) *error = table ? INIT_OK : INIT_NO_INTERFACE;
  return table;
}

static bool core_is_hmd_present(void *self) {
  (void)self;
  return true;
}

static const char *core_error_text(void *self, uint32_t error) {
  (void)self, (void)error;
  return "an error of the simulated runtime";
}

static void *core_methods[7] = {
    core_init,           core_cleanup,    core_is_interface_valid, core_get_interface,
    core_is_hmd_present, core_error_text, core_error_text,
};
static struct { void **methods; } core = {core_methods};

static uintptr_t unsupported(void) { return 0; }

static void fill(void **table, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (!table[i]) table[i] = unsupported;
  }
}

__attribute__((visibility("default"))) void *VRClientCoreFactory(const char *name, int *error) {
  bool known = strcmp(name, "IVRClientCore_003") == 0;
  fill(system_table, 47);
  fill(settings_table, 11);
  if (error) *error = known ? INIT_OK : INIT_NO_INTERFACE;
  return known ? &core : NULL;
}
