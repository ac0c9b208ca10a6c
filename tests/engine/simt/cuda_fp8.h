// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/util/Float8_e4m3fn.h>

#include <algorithm>

// NOLINTBEGIN(readability-identifier-naming): CUDA's names

enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };
/// Rounds to e4m3. Numbers and infinities beyond its largest number become that number; NaN stays.
inline std::uint8_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t /*saturation*/,
                                          __nv_fp8_interpretation_t /*kind*/) {
  return c10::Float8_e4m3fn(x != x ? x : std::clamp(x, -448.0f, 448.0f)).x;
}
// NOLINTEND(readability-identifier-naming)
