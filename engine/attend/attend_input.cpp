// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include <cmath>

#include "engine/attend/attend.h"
#include "engine/tensors/tensor_io.h"
#include "traces/format/core/error.h"

namespace ringscope::engine {

using traces::MaskKind;

namespace {

/// Permutes q, k, v or dout from the file's layout to [B, H, S, D].
at::Tensor toBhsd(const at::Tensor& t, const std::string& layout, const std::string& source) {
  const auto permuted = [&](std::int64_t dims, at::IntArrayRef order) {
    if (t.dim() != dims)
      throw inputError(source + ": a tensor of layout " + layout + " has " + std::to_string(dims) +
                       " dimensions, not " + std::to_string(t.dim()));
    return t.permute(order).contiguous();
  };
  if (layout.empty() || layout == "BHSD") return t;
  if (layout == "BSHD") return permuted(4, {0, 2, 1, 3});
  if (layout == "SBHD") return permuted(4, {1, 2, 0, 3});
  if (layout == "THD") return permuted(3, {1, 0, 2}).unsqueeze(0);
  throw inputError(source + ": layout '" + layout + "' is not BHSD, BSHD, SBHD or THD");
}

/// Returns the mask of this kind, with the file's documents.
Mask readMask(const traces::SafeTensorsFile& file, MaskKind kind, std::int64_t window,
              std::int64_t length) {
  if (kind == MaskKind::kFull) return Mask::full();
  if (kind == MaskKind::kCausal) return Mask::causalMask();
  if (kind == MaskKind::kWindow) return Mask::slidingWindow(window);
  const at::Tensor cu = toTensor(file.at("cu_seqlens"), "cu_seqlens").to(at::kLong).contiguous();
  Mask mask = Mask::packed(
      {cu.const_data_ptr<std::int64_t>(), cu.const_data_ptr<std::int64_t>() + cu.numel()}, length);
  mask.window = window;
  return mask;
}

MaskKind maskNamed(const std::string& name, const std::string& source) {
  if (const auto found = traces::findByName<MaskKind>(name)) return *found;
  throw inputError(source + ": " + traces::unknownName("mask", name, traces::allNames<MaskKind>()));
}

void checkShapes(const AttendInput& in, const std::string& source) {
  auto require = [&](bool fine, const std::string& what) {
    if (!fine) throw inputError(source + ": " + what);
  };
  require(in.q.dim() == 4, "q must have the shape [B, Hq, S, D]");
  require(in.k.dim() == 4 && in.k.sizes() == in.v.sizes(),
          "k and v must both have the shape [B, Hkv, S, D]");
  require(in.dout.sizes() == in.q.sizes(), "dout must be shaped like q");
  require(
      in.q.size(0) == in.k.size(0) && in.q.size(2) == in.k.size(2) && in.q.size(3) == in.k.size(3),
      "q and k differ in batch, length or head size");
  require(in.q.numel() > 0 && in.k.numel() > 0, "q, k and v must not be empty");
  require(in.q.size(1) % in.k.size(1) == 0, std::to_string(in.q.size(1)) +
                                                " query heads do not divide into " +
                                                std::to_string(in.k.size(1)) + " key-value heads");
  require(in.q.is_floating_point(), "q must be float32, float64, bfloat16 or float16");
  require(!in.sinks.defined() || (in.sinks.dim() == 1 && in.sinks.size(0) == in.q.size(1) &&
                                  in.sinks.is_floating_point()),
          "sinks must hold one floating-point logit for each query head, [Hq]");
  for (const at::Tensor* t : {&in.k, &in.v, &in.dout})
    require(t->scalar_type() == in.q.scalar_type(), "q, k, v and dout must have the same type");
}

}  // namespace

AttendInput AttendInput::load(const std::string& path, std::optional<MaskKind> mask,
                              std::int64_t window) {
  const auto file = traces::SafeTensorsFile::read(path);
  auto metadata = [&](const char* key) {
    const auto found = file.metadata().find(key);
    return found == file.metadata().end() ? std::string() : found->second;
  };
  auto number = [&](const char* key, double otherwise) {
    const std::string text = metadata(key);
    if (text.empty()) return otherwise;
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (*end != 0 || !std::isfinite(value))
      throw inputError(path + ": " + key + " '" + text + "' is not a number");
    return value;
  };
  const std::string layout = metadata("layout");
  auto read = [&](const char* name) { return toBhsd(toTensor(file.at(name), name), layout, path); };
  AttendInput in{read("q"), read("k"), read("v"), read("dout")};
  if (file.contains("sinks")) in.sinks = toTensor(file.at("sinks"), "sinks");
  checkShapes(in, path);
  const std::string named = metadata("mask");
  if (!mask) mask = named.empty() ? MaskKind::kFull : maskNamed(named, path);
  const double of_file = number("window", 0);
  if (of_file < 0 || of_file > 0x1p53 || of_file != std::floor(of_file))
    throw inputError(path + ": window '" + metadata("window") + "' is not a number of keys");
  if (window > 0 && (*mask == MaskKind::kFull || *mask == MaskKind::kCausal))
    throw usageError("--window " + std::to_string(window) + " would be ignored under the mask '" +
                     traces::name(*mask) + "'; give --mask window or --mask documents too");
  const auto seen = window > 0 ? window : static_cast<std::int64_t>(of_file);
  in.mask = readMask(file, *mask, seen, in.q.size(2));
  in.scale = number("scale", 1.0 / std::sqrt(static_cast<double>(in.q.size(3))));
  return in;
}

}  // namespace ringscope::engine
