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

// TFMessage's entry into rosidl_typesupport_c. The generated one looks for one shared library
// per type support on LD_LIBRARY_PATH; here both type supports are linked into the extension, so
// that they are returned directly and nothing has to be found at run time.

#include <string.h>

#include "rosidl_runtime_c/message_type_support_struct.h"
#include "rosidl_typesupport_c/identifier.h"
#include "rosidl_typesupport_interface/macros.h"
#include "tf2_msgs/msg/detail/tf_message__functions.h"

#define TYPE_SUPPORT(implementation) \
  ROSIDL_TYPESUPPORT_INTERFACE__MESSAGE_SYMBOL_NAME(implementation, tf2_msgs, msg, TFMessage)

const rosidl_message_type_support_t * TYPE_SUPPORT(rosidl_typesupport_fastrtps_c)(void);
const rosidl_message_type_support_t * TYPE_SUPPORT(rosidl_typesupport_introspection_c)(void);

static const rosidl_message_type_support_t * select_implementation(
  const rosidl_message_type_support_t * handle, const char * identifier)
{
  const rosidl_message_type_support_t * const known[] = {
    handle,
    TYPE_SUPPORT(rosidl_typesupport_fastrtps_c)(),
    TYPE_SUPPORT(rosidl_typesupport_introspection_c)(),
  };
  for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); ++i) {
    if (strcmp(known[i]->typesupport_identifier, identifier) == 0) {
      return known[i];
    }
  }
  return NULL;
}

const rosidl_message_type_support_t * TYPE_SUPPORT(rosidl_typesupport_c)(void)
{
  static rosidl_message_type_support_t handle = {
    .func = select_implementation,
    .get_type_hash_func = tf2_msgs__msg__TFMessage__get_type_hash,
    .get_type_description_func = tf2_msgs__msg__TFMessage__get_type_description,
    .get_type_description_sources_func =
      tf2_msgs__msg__TFMessage__get_type_description_sources,
  };
  // Set here because another library's variable is no constant initializer in C.
  handle.typesupport_identifier = rosidl_typesupport_c__typesupport_identifier;
  return &handle;
}
