// SPDX-License-Identifier: Apache-2.0
#include "traces/format/schema/tensor_key.h"

#include <tuple>

namespace ringscope::traces {
namespace {

/// Reports whether the tensors of a kind are told apart by a name.
bool isNamed(TensorKind kind) {
  return kind == TensorKind::kBuffer || kind == TensorKind::kGradient ||
         kind == TensorKind::kWeight;
}

}  // namespace

std::string TensorName::text() const {
  if (kind == TensorKind::kOther) return name;
  const std::string of_kind = traces::name(kind);
  return isNamed(kind) ? of_kind + "." + name : of_kind;
}

TensorName TensorName::of(std::string_view text) {
  const auto dot = text.find('.');
  const auto kind = findByName<TensorKind>(text.substr(0, dot));
  if (!kind || *kind == TensorKind::kOther || isNamed(*kind) != (dot != std::string_view::npos))
    return {TensorKind::kOther, std::string(text)};
  return {*kind, isNamed(*kind) ? std::string(text.substr(dot + 1)) : std::string()};
}

bool keyBefore(const TensorKey& a, const TensorKey& b) {
  if (before(a.place, b.place)) return true;
  if (before(b.place, a.place)) return false;
  auto rest = [](const TensorKey& k) {
    return std::tuple(k.rank.value(), k.tensor.kind, k.microbatch, k.pass, k.source_rank.value(),
                      k.piece.value());
  };
  if (rest(a) != rest(b)) return rest(a) < rest(b);
  return a.tensor.name < b.tensor.name;
}

std::string describe(const TensorKey& key) {
  std::string text =
      key.tensor.text() + " of rank " + toString(key.rank) + ", " + describe(key.place);
  if (key.source_rank.exists()) text += ", from rank " + toString(key.source_rank);
  if (key.piece.exists()) text += ", piece " + toString(key.piece);
  if (key.microbatch > 0) text += ", microbatch " + std::to_string(key.microbatch);
  if (key.pass == Pass::kRecompute) text += ", recomputed";
  return text;
}

bool mayBeInfinite(TensorKind kind) {
  return kind == TensorKind::kLse || kind == TensorKind::kBlockLse ||
         kind == TensorKind::kRunningLse;
}

}  // namespace ringscope::traces
