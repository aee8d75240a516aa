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

// IVRSystem_023 of the simulated runtime: the functions that a tracking client calls.

#include <math.h>
#include <string.h>

#include "vrclient.h"

enum PropertyError { PROPERTY_OK = 0, BUFFER_TOO_SMALL = 3, UNKNOWN_PROPERTY = 4,
                     INVALID_DEVICE = 5, NO_SERVER = 6, NOT_PROVIDED = 7 };
enum Property { PROP_MODEL = 1001, PROP_SERIAL = 1002, PROP_CHARGING = 1011, PROP_BATTERY = 1012,
                PROP_HAS_BATTERY = 1026, PROP_REGISTERED_TYPE = 1036, PROP_AXIS_0_TYPE = 3002,
                PROP_CONTROLLER_TYPE = 7000 };
enum Universe { SEATED = 0, STANDING = 1, RAW = 2 };

typedef struct { float m[3][4]; } Matrix34;

typedef struct {
  Matrix34 pose;
  float velocity[3];
  float angular_velocity[3];
  uint32_t result;
  bool valid;
  bool connected;
} TrackedDevicePose;

// Valve packs these two to 4 bytes on Linux.
#pragma pack(push, 4)
typedef struct {
  uint32_t type;
  uint32_t device;
  float age_s;
  uint64_t container;
  uint32_t property;
  uint8_t rest[36];
} VREvent;

typedef struct {
  uint32_t packet;
  uint64_t pressed;
  uint64_t touched;
  float axes[5][2];
} ControllerState;
#pragma pack(pop)

_Static_assert(sizeof(TrackedDevicePose) == 80, "TrackedDevicePose_t has 80 bytes");
_Static_assert(sizeof(VREvent) == 60, "VREvent_t has 60 bytes");
_Static_assert(sizeof(ControllerState) == 60, "VRControllerState_t has 60 bytes");


// The last whole copy; a frozen server repeats it.
static Device devices[MAX_DEVICES];

// Copy all devices as they were at one instant between two writes.
static void copy_devices(void) {
  State *state = session.state;
  while (server_answers()) {
    uint64_t before = atomic_load_explicit(&state->sequence, memory_order_acquire);
    if (before % 2 == 0) {
      memcpy(devices, state->devices, sizeof devices);
      atomic_thread_fence(memory_order_acquire);
      if (atomic_load_explicit(&state->sequence, memory_order_relaxed) == before) return;
    }
    sleep_us(1);
  }
}

static const Device *device_at(uint32_t index) {
  if (index >= MAX_DEVICES || devices[index].device_class == 0) return NULL;
  return &devices[index];
}

// a^-1 b, for rigid a and b.
static Matrix34 relative(const float a[3][4], const float b[3][4]) {
  Matrix34 result;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 4; ++j) {
      result.m[i][j] = 0;
      for (int k = 0; k < 3; ++k) {
        result.m[i][j] += a[k][i] * (b[k][j] - (j == 3 ? a[k][3] : 0));
      }
    }
  }
  return result;
}

static void rotate_back(const float a[3][4], const float vector[3], float result[3]) {
  for (int i = 0; i < 3; ++i) {
    result[i] = a[0][i] * vector[0] + a[1][i] * vector[1] + a[2][i] * vector[2];
  }
}

// Move and turn at constant velocity for dt seconds; both velocities are in universe axes.
static void predict(const Device *device, float dt, float pose[3][4]) {
  memcpy(pose, device->pose, sizeof device->pose);
  if (dt == 0) return;  // also with velocities that are no numbers
  const float *w = device->angular_velocity;
  float rate = sqrtf(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
  float c = cosf(rate * dt), s = sinf(rate * dt);
  float x = rate > 0 ? w[0] / rate : 0, y = rate > 0 ? w[1] / rate : 0,
        z = rate > 0 ? w[2] / rate : 0;
  float turn[3][3] = {
      {c + x * x * (1 - c), x * y * (1 - c) - z * s, x * z * (1 - c) + y * s},
      {y * x * (1 - c) + z * s, c + y * y * (1 - c), y * z * (1 - c) - x * s},
      {z * x * (1 - c) - y * s, z * y * (1 - c) + x * s, c + z * z * (1 - c)}};
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      pose[i][j] = turn[i][0] * device->pose[0][j] + turn[i][1] * device->pose[1][j] +
                   turn[i][2] * device->pose[2][j];
    }
    pose[i][3] = device->pose[i][3] + dt * device->velocity[i];
  }
}

static void get_poses(uint32_t universe, float dt, TrackedDevicePose *poses, uint32_t count) {
  static const float identity[3][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}};
  const State *state = session.state;
  const float(*origin)[4] = universe == SEATED ? state->standing_from_seated
                            : universe == RAW  ? state->standing_from_raw
                                               : identity;
  sleep_us(session.state->call_delay_us);
  copy_devices();
  memset(poses, 0, count * sizeof *poses);
  if (server_status() == VANISHED) return;
  for (uint32_t i = 0; i < count && i < MAX_DEVICES; ++i) {
    const Device *device = &devices[i];
    if (device->device_class == 0) continue;
    float pose[3][4];
    predict(device, dt, pose);
    poses[i].pose = relative(origin, pose);
    rotate_back(origin, device->velocity, poses[i].velocity);
    rotate_back(origin, device->angular_velocity, poses[i].angular_velocity);
    poses[i].result = device->tracking_result;
    poses[i].valid = device->pose_valid;
    poses[i].connected = device->connected;
  }
}

static uint32_t get_controller_role(uint32_t index) {
  copy_devices();
  const Device *device = device_at(index);
  return device ? device->hand : 0;
}

static uint32_t get_class(uint32_t index) {
  copy_devices();
  const Device *device = device_at(index);
  return device ? device->device_class : 0;
}

// The device whose property is asked for, or NULL with the reason in `error`.
static const Device *property_owner(uint32_t index, uint32_t *error) {
  copy_devices();
  const Device *device = device_at(index);
  uint32_t reason = device ? PROPERTY_OK : INVALID_DEVICE;
  if (server_status() == FROZEN) reason = NO_SERVER;
  if (error) *error = reason;
  return reason == PROPERTY_OK ? device : NULL;
}

static bool get_bool(uint32_t index, uint32_t property, uint32_t *error) {
  const Device *device = property_owner(index, error);
  if (device && property == PROP_HAS_BATTERY) return device->has_battery;
  if (device && property == PROP_CHARGING && device->has_battery) return device->charging;
  if (device && error) *error = NOT_PROVIDED;
  return false;
}

static float get_float(uint32_t index, uint32_t property, uint32_t *error) {
  const Device *device = property_owner(index, error);
  if (device && property == PROP_BATTERY && device->has_battery) return device->battery;
  if (device && error) *error = NOT_PROVIDED;
  return 0;
}

static int32_t get_int32(uint32_t index, uint32_t property, uint32_t *error) {
  const Device *device = property_owner(index, error);
  uint32_t axis = property - PROP_AXIS_0_TYPE;
  if (device && axis < 5) return (int32_t)device->axis_types[axis];
  if (device && error) *error = NOT_PROVIDED;
  return 0;
}

static uint32_t get_string(uint32_t index, uint32_t property, char *buffer, uint32_t size,
                           uint32_t *error) {
  const Device *device = property_owner(index, error);
  if (!device) return 0;
  const char *text = property == PROP_SERIAL            ? device->serial
                     : property == PROP_MODEL           ? device->model
                     : property == PROP_REGISTERED_TYPE ? device->registered_type
                     : property == PROP_CONTROLLER_TYPE ? device->controller_type
                                                        : NULL;
  uint32_t needed = text && *text ? (uint32_t)strlen(text) + 1 : 0;
  if (error) *error = !text ? UNKNOWN_PROPERTY : !needed ? NOT_PROVIDED : PROPERTY_OK;
  if (needed && size < needed && error) *error = BUFFER_TOO_SMALL;
  if (needed && size >= needed) memcpy(buffer, text, needed);
  return needed;
}

static bool poll_next_event(VREvent *event, uint32_t size) {
  uint64_t count = atomic_load_explicit(&session.state->event_count, memory_order_acquire);
  if (!server_answers() || session.next_event >= count || size < sizeof *event) return false;
  if (count - session.next_event > EVENT_SLOTS) session.next_event = count - EVENT_SLOTS;
  const Event *source = &session.state->events[session.next_event++ % EVENT_SLOTS];
  memset(event, 0, sizeof *event);
  event->type = source->type;
  event->device = source->device;
  event->property = source->property;
  return true;
}

static bool get_controller_state(uint32_t index, ControllerState *controller, uint32_t size) {
  copy_devices();
  const Device *device = device_at(index);
  if (!server_answers() || !device || !device->connected || size < sizeof *controller) {
    return false;
  }
  controller->packet = device->packet;
  controller->pressed = device->pressed;
  controller->touched = device->touched;
  memcpy(controller->axes, device->axes, sizeof controller->axes);
  return true;
}

static void trigger_haptic_pulse(uint32_t index, uint32_t axis, unsigned short duration_us) {
  if (!server_answers()) return;
  Client *client = &session.state->client;
  uint64_t slot = atomic_load(&client->pulse_count);
  client->pulses[slot % PULSE_SLOTS] = (Pulse){index, axis, duration_us};
  atomic_store(&client->pulse_count, slot + 1);
}

static void acknowledge_quit(void) {
  atomic_fetch_add(&session.state->client.quits_acknowledged, 1);
}

// The rest of the 47 places does nothing (see VRClientCoreFactory).
void *system_table[47] = {
    [11] = get_poses,
    [18] = get_controller_role,
    [19] = get_class,
    [21] = get_bool,
    [22] = get_float,
    [23] = get_int32,
    [27] = get_string,
    [29] = poll_next_event,
    [34] = get_controller_state,
    [36] = trigger_haptic_pulse,
    [44] = acknowledge_quit,
};
