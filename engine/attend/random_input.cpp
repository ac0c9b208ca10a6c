// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <charconv>
#include <cmath>

#include "engine/attend/attend.h"
#include "traces/format/core/error.h"
#include "traces/format/core/prose.h"

namespace ringscope::engine {

using traces::DType;
using traces::MaskKind;

namespace {

/// At most 1 GiB of float32 per tensor.
constexpr std::int64_t kMostElements = std::int64_t{1} << 28;

at::ScalarType torchType(DType type) {
  switch (type) {
    case DType::kFloat32:
      return at::kFloat;
    case DType::kFloat64:
      return at::kDouble;
    case DType::kBFloat16:
      return at::kBFloat16;
    case DType::kFloat16:
      return at::kHalf;
    default:
      throw usageError(std::string("an attention has no --dtype ") + traces::name(type));
  }
}

Mask maskFor(MaskKind kind, std::int64_t window) {
  if (kind == MaskKind::kDocuments)
    throw usageError(
        "--random makes one sequence, and --mask documents needs the cu_seqlens of an INPUT; use "
        "full, causal or window");
  if (kind == MaskKind::kFull) return Mask::full();
  return kind == MaskKind::kWindow ? Mask::slidingWindow(window) : Mask::causalMask();
}

}  // namespace

RandomShape RandomShape::parse(const std::string& text) {
  const auto refused = [&](const std::string& why) {
    return usageError("--random '" + text + "' " + why);
  };
  std::vector<std::int64_t> numbers;
  for (const char *at = text.data(), *end = at + text.size();; ++at) {
    const auto [stopped, error] = std::from_chars(at, end, numbers.emplace_back());
    if (error == std::errc::result_out_of_range) throw refused("holds a number that is too large");
    if (error != std::errc() || (stopped != end && *stopped != ','))
      throw refused("is not B,H,S,D or B,H,S,D,Hkv, such as 8,8,64,32");
    at = stopped;
    if (at == end) break;
  }
  if (numbers.size() != 4 && numbers.size() != 5)
    throw refused("has " + traces::describeCount(std::ssize(numbers), "number") +
                  "; it is B,H,S,D or B,H,S,D,Hkv, such as 8,8,64,32");
  std::int64_t elements = 1;
  for (const std::int64_t number : numbers)
    if (number < 1)
      throw refused("holds " + std::to_string(number) + "; each number is at least 1");
  for (const std::int64_t number : {numbers[0], numbers[1], numbers[2], numbers[3]}) {
    if (number > kMostElements / elements)
      throw refused("is too large; a tensor that is made here has " +
                    traces::describeCount(kMostElements, "number") + " at most");
    elements *= number;
  }
  RandomShape shape{numbers[0], numbers[1], numbers[2], numbers[3], numbers[1]};
  if (numbers.size() == 5) shape.kv_heads = numbers[4];
  if (shape.heads % shape.kv_heads != 0)
    throw refused("cannot be: " + std::to_string(shape.heads) + " query heads do not divide into " +
                  std::to_string(shape.kv_heads) + " key-value heads");
  return shape;
}

AttendInput AttendInput::random(const RandomShape& shape, DType type, std::uint64_t seed,
                                std::optional<MaskKind> mask, std::int64_t window) {
  const MaskKind otherwise = window > 0 ? MaskKind::kWindow : MaskKind::kCausal;
  AttendInput in;
  in.mask = maskFor(mask.value_or(otherwise), window);
  in.scale = 1 / std::sqrt(static_cast<double>(shape.width));
  const at::ScalarType wanted = torchType(type);
  // All narrow types are drawn in float32, so that inputs of different types differ by rounding
  // only.
  const auto drawn = wanted == at::kDouble ? at::kDouble : at::kFloat;
  const at::Generator generator = at::detail::createCPUGenerator(seed);
  for (at::Tensor AttendInput::*tensor :
       {&AttendInput::q, &AttendInput::k, &AttendInput::v, &AttendInput::dout}) {
    const bool keys = tensor == &AttendInput::k || tensor == &AttendInput::v;
    in.*tensor =
        at::randn({shape.batch, keys ? shape.kv_heads : shape.heads, shape.length, shape.width},
                  generator, drawn)
            .to(wanted);
  }
  return in;
}

}  // namespace ringscope::engine
