// SPDX-License-Identifier: Apache-2.0
#include "tests/support/recorded_layer.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "tests/support/trace_builder.h"

namespace ringscope::test {
namespace {

using namespace traces;

constexpr TensorKind kAll[] = {TensorKind::kQ,   TensorKind::kK,   TensorKind::kV,
                               TensorKind::kOut, TensorKind::kLse, TensorKind::kDout,
                               TensorKind::kDq,  TensorKind::kDk,  TensorKind::kDv};

bool ofKeys(TensorKind kind) {
  return kind == TensorKind::kK || kind == TensorKind::kV || kind == TensorKind::kDk ||
         kind == TensorKind::kDv;
}

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

float toBFloat16(float value) {
  auto bits = std::bit_cast<std::uint32_t>(value);
  if (!std::isfinite(value)) return value;
  bits += 0x7FFF + ((bits >> 16) & 1);
  return std::bit_cast<float>(bits & 0xFFFF0000);
}

template <typename T>
void append(Bytes& bytes, T value) {
  const std::size_t begin = bytes.size();
  bytes.resize(begin + sizeof(T));
  std::memcpy(bytes.data() + begin, &value, sizeof(T));
}

Bytes encoded(const std::vector<double>& values, DType dtype) {
  Bytes bytes;
  for (const double value : values)
    if (dtype == DType::kFloat64)
      append(bytes, value);
    else if (dtype == DType::kFloat32)
      append(bytes, static_cast<float>(value));
    else
      append(bytes, static_cast<std::uint16_t>(
                        std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16));
  return bytes;
}

}  // namespace

RecordedLayer::RecordedLayer(LayerSpec spec) : spec_(std::move(spec)) {
  // The named capture is less than what is kept here, so that advice names a capture for what a
  // test leaves out.
  text_ = "run capture=stats cp=" + std::to_string(spec_.tokens.size()) + " " + spec_.run +
          "\nintent " + spec_.intent + "\ngroup cp ";
  for (std::size_t r = 0; r < spec_.tokens.size(); ++r) text_ += (r ? "," : "") + std::to_string(r);
  for (std::size_t r = 0; r < spec_.tokens.size(); ++r)
    text_ += "\nshard input_ids rank=" + std::to_string(r) + " tokens=" + spec_.tokens[r];
  const auto trace = makeTrace(text_);
  intent_ = trace->intents().front();
  for (const ShardRecord& shard : trace->shards()) {
    tokens_.emplace_back();
    for (const TokenRun& run : shard.global_from_local)
      for (std::int64_t token = run.begin; token < run.end; ++token) {
        tokens_.back().push_back(token);
        length_ = std::max(length_, token + 1);
      }
  }
  std::mt19937 random(7);
  for (const TensorKind kind : kAll) {
    const std::int64_t rows = spec_.batch * (ofKeys(kind) ? spec_.kv_heads : spec_.heads) * length_;
    values_[kind].resize(at(rows * (kind == TensorKind::kLse ? 1 : spec_.head_dim)));
  }
  for (const TensorKind kind :
       {TensorKind::kQ, TensorKind::kK, TensorKind::kV, TensorKind::kDout}) {
    std::normal_distribution<double> draw(0, kind == TensorKind::kQ ? spec_.spread : 1);
    for (double& value : values_[kind]) value = rounded(draw(random));
  }
  if (spec_.write_key) writeKeys();
  forward();
  backward();
}

void RecordedLayer::writeKeys() {
  for (std::int64_t batch = 0; batch < spec_.batch; ++batch)
    for (std::int64_t head = 0; head < spec_.kv_heads; ++head)
      for (std::int64_t token = 0; token < length_; ++token) {
        const std::span<double> key = row(TensorKind::kK, batch, head, token);
        spec_.write_key(token, key);
        for (double& value : key) value = rounded(value);
      }
}

double RecordedLayer::rounded(double value) const {
  if (spec_.dtype == DType::kFloat64) return value;
  const auto single = static_cast<float>(value);
  return spec_.dtype == DType::kBFloat16 ? toBFloat16(single) : single;
}

double RecordedLayer::summed(double value) const {
  return spec_.dtype == DType::kFloat64 ? value : static_cast<float>(value);
}

std::span<double> RecordedLayer::row(TensorKind kind, std::int64_t batch, std::int64_t head,
                                     std::int64_t token) {
  const std::int64_t heads = ofKeys(kind) ? spec_.kv_heads : spec_.heads;
  const std::size_t width = kind == TensorKind::kLse ? 1 : at(spec_.head_dim);
  return std::span(values_[kind])
      .subspan(at((batch * heads + head) * length_ + token) * width, width);
}

bool RecordedLayer::allows(std::int64_t query, std::int64_t key) const {
  if (intent_.mask == MaskKind::kFull) return true;
  if (key > query || (intent_.window > 0 && query - key >= intent_.window)) return false;
  if (intent_.mask != MaskKind::kDocuments) return true;
  for (const TokenRun& document : intent_.documents)
    if (document.begin <= query && query < document.end) return key >= document.begin;
  return false;
}

double RecordedLayer::score(std::int64_t batch, std::int64_t head, std::int64_t query,
                            std::int64_t key) {
  const auto q = row(TensorKind::kQ, batch, head, query);
  const auto k = row(TensorKind::kK, batch, head / (spec_.heads / spec_.kv_heads), key);
  double sum = 0;
  for (std::size_t d = 0; d < q.size(); ++d) sum = summed(sum + summed(q[d] * k[d]));
  const double score = summed(sum * scale()), cap = spec_.softcap;
  return cap > 0 ? summed(cap * std::tanh(score / cap)) : score;
}

/// Merges the attention of one query row to some keys into out and lse, a rank's running result.
void RecordedLayer::attendBlock(std::int64_t batch, std::int64_t head, std::int64_t query,
                                const std::vector<std::int64_t>& keys, std::vector<double>& out,
                                double& lse) {
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  std::vector<double> scores;
  for (const std::int64_t key : keys) {
    scores.push_back(score(batch, head, query, key));
    largest = std::max(largest, scores.back());
  }
  std::vector<double> block(out.size(), 0);
  for (std::size_t j = 0; j < keys.size(); ++j) {
    const double weight = summed(std::exp(scores[j] - largest));
    sum = summed(sum + weight);
    const auto v = row(TensorKind::kV, batch, head / (spec_.heads / spec_.kv_heads), keys[j]);
    for (std::size_t d = 0; d < block.size(); ++d)
      block[d] = summed(block[d] + summed(rounded(weight) * v[d]));
  }
  const double block_lse = summed(largest + std::log(sum)), m = std::max(lse, block_lse);
  const double keep = summed(std::exp(lse - m)), add = summed(std::exp(block_lse - m));
  for (std::size_t d = 0; d < block.size(); ++d)
    out[d] = summed((keep * out[d] + add * rounded(block[d] / sum)) / (keep + add));
  lse = summed(m + std::log(keep + add));
}

void RecordedLayer::takeSink(double sink, std::vector<double>& out, double& lse) const {
  const double m = std::max(lse, sink);
  const double all = summed(m + std::log(std::exp(lse - m) + std::exp(sink - m)));
  const double share = summed(std::exp(lse - all));
  for (double& value : out) value = summed(value * share);
  lse = all;
}

void RecordedLayer::forward() {
  for (std::int64_t b = 0; b < spec_.batch; ++b)
    for (std::int64_t h = 0; h < spec_.heads; ++h)
      for (std::int64_t query = 0; query < length_; ++query) {
        std::vector<double> out(at(spec_.head_dim), 0);
        double lse = -std::numeric_limits<double>::infinity();
        for (const auto& block : tokens_) {
          std::vector<std::int64_t> keys;
          for (const std::int64_t key : block)
            if (allows(query, key)) keys.push_back(key);
          if (keys.empty() && spec_.empty_blocks_count) takeSink(0, out, lse);
          if (keys.empty()) continue;
          attendBlock(b, h, query, keys, out, lse);
          if (spec_.sink_per_block) takeSink(spec_.sinks[at(h)], out, lse);
        }
        if (!spec_.sinks.empty() && !spec_.sink_per_block) takeSink(spec_.sinks[at(h)], out, lse);
        row(TensorKind::kLse, b, h, query)[0] = lse;
        auto recorded = row(TensorKind::kOut, b, h, query);
        for (std::size_t d = 0; d < out.size(); ++d) recorded[d] = rounded(out[d]);
      }
}

void RecordedLayer::backward() {
  const double scale = this->scale();
  for (std::int64_t b = 0; b < spec_.batch; ++b)
    for (std::int64_t h = 0; h < spec_.heads; ++h)
      for (std::int64_t query = 0; query < length_; ++query) {
        const std::int64_t kv = h / (spec_.heads / spec_.kv_heads);
        const auto q = row(TensorKind::kQ, b, h, query), dout = row(TensorKind::kDout, b, h, query),
                   out = row(TensorKind::kOut, b, h, query), dq = row(TensorKind::kDq, b, h, query);
        double delta = 0;
        for (std::size_t d = 0; d < q.size(); ++d) delta += dout[d] * out[d];
        for (std::int64_t key = 0; key < length_; ++key) {
          if (!allows(query, key)) continue;
          const auto k = row(TensorKind::kK, b, kv, key), v = row(TensorKind::kV, b, kv, key),
                     dk = row(TensorKind::kDk, b, kv, key), dv = row(TensorKind::kDv, b, kv, key);
          const double capped = score(b, h, query, key);
          const double p = std::exp(capped - row(TensorKind::kLse, b, h, query)[0]);
          const double of_cap = spec_.softcap > 0 ? capped / spec_.softcap : 0;
          double dp = 0;
          for (std::size_t d = 0; d < q.size(); ++d) dp += dout[d] * v[d];
          const double ds = rounded(p * (dp - delta) * (1 - of_cap * of_cap)), weight = rounded(p);
          for (std::size_t d = 0; d < q.size(); ++d) {
            dq[d] += ds * k[d] * scale;
            dk[d] += ds * q[d] * scale;
            dv[d] += weight * dout[d];
          }
        }
      }
  for (const TensorKind kind : {TensorKind::kDq, TensorKind::kDk, TensorKind::kDv})
    for (double& value : values_[kind]) value = rounded(value);
}

double RecordedLayer::scale() const {
  return spec_.scale > 0 ? spec_.scale : 1 / std::sqrt(static_cast<double>(spec_.head_dim));
}

std::shared_ptr<Trace> RecordedLayer::record() const {
  const auto trace = makeTrace(text_);
  for (std::size_t r = 0; r < tokens_.size(); ++r)
    for (const TensorKind kind : kAll) {
      if (absent_.contains({kind, static_cast<int>(r)})) continue;
      const bool lse = kind == TensorKind::kLse;
      const bool backward = kind >= TensorKind::kDout;
      const std::int64_t heads = ofKeys(kind) ? spec_.kv_heads : spec_.heads;
      TensorRecord tensor;
      tensor.tensor.kind = kind;
      tensor.place = {0, Layer::of(0), backward ? Direction::kBackward : Direction::kForward,
                      RingStep::none()};
      tensor.pass = backward ? Pass::kBackward : Pass::kForward;
      tensor.rank = WorldRank::of(r);
      tensor.id = TensorId::of(trace->tensors().size() + 1);
      tensor.dtype = lse && spec_.dtype == DType::kBFloat16 ? DType::kFloat32 : spec_.dtype;
      tensor.shape = {spec_.batch, heads, static_cast<std::int64_t>(tokens_[r].size())};
      if (!lse) tensor.shape.push_back(spec_.head_dim);
      tensor.has_values = !empty_.contains({kind, static_cast<int>(r)});
      std::vector<double> values;
      const std::size_t width = lse ? 1 : at(spec_.head_dim);
      for (std::int64_t head = 0; head < spec_.batch * heads; ++head)
        for (const std::int64_t token : tokens_[r]) {
          const auto first = values_.at(kind).begin() +
                             static_cast<std::ptrdiff_t>(at(head * length_ + token) * width);
          values.insert(values.end(), first, first + static_cast<std::ptrdiff_t>(width));
        }
      if (tensor.has_values) trace->addValues(tensor.id, encoded(values, tensor.dtype));
      trace->add(std::vector{tensor});
    }
  const auto& sinks = spec_.recorded_sinks.empty() ? spec_.sinks : spec_.recorded_sinks;
  for (std::size_t r = 0; r < tokens_.size() && !sinks.empty(); ++r) {
    if (absent_.contains({TensorKind::kSinks, static_cast<int>(r)})) continue;
    TensorRecord tensor;
    tensor.tensor.kind = TensorKind::kSinks;
    tensor.place = {0, Layer::of(0), Direction::kForward, RingStep::none()};
    tensor.rank = WorldRank::of(r);
    tensor.dtype = DType::kFloat64;
    tensor.shape = {spec_.heads};
    addTensor(*trace, tensor, encoded(sinks, tensor.dtype));
  }
  return trace;
}

LayerSpec importedLayer() {
  LayerSpec spec{{"0-8,56-64", "8-16,48-56", "16-24,40-48", "24-40"}};
  spec.run = "command=import";
  return spec;
}

void addTensor(Trace& trace, TensorRecord tensor, Bytes bytes) {
  tensor.id = TensorId::of(trace.tensors().size() + 1);
  tensor.has_values = true;
  trace.addValues(tensor.id, std::move(bytes));
  trace.add(std::vector{tensor});
}

}  // namespace ringscope::test
