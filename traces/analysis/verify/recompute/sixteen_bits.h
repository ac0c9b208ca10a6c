// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

namespace ringscope::traces {

/// Reports whether bfloat16 represents a value exactly.
bool isBFloat16(double value);

/// Reports whether a 16-bit type, bfloat16 or float16, represents all values exactly. The result of
/// a product in such a type keeps this property when it is cast to float32, as autocast and
/// Transformers do before the loss. The recorded type alone does not show in which type the product
/// ran.
bool fitSixteenBits(std::span<const double> values);

}  // namespace ringscope::traces
