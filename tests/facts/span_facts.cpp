// SPDX-License-Identifier: Apache-2.0
// Checks what the Timeline view says about a bar: its event, its name and its figures.
#include "tests/facts/span_facts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/facts/drawing.h"
#include "tests/facts/said.h"
#include "viz/views/timeline/span_details_scene.h"

namespace ringscope::facts {

using traces::Event;
using traces::EventKind;
using traces::Payload;

namespace {

std::string payloadMeant(Payload payload) {
  const std::map<Payload, std::string> words = {{Payload::kNone, "a message"},
                                                {Payload::kKv, "KV"},
                                                {Payload::kDkv, "dK, dV"},
                                                {Payload::kGrads, "gradients"},
                                                {Payload::kScalars, "scalars"},
                                                {Payload::kHeads, "heads"},
                                                {Payload::kActivations, "activations"}};
  return words.at(payload);
}

/// " 3": of a rank that is recorded.
std::string numbered(const std::string& words, traces::WorldRank rank) {
  return rank.value() >= 0 ? words + " " + std::to_string(rank.value()) : words;
}

std::string sendMeant(const Event& e) {
  std::string what = payloadMeant(e.payload);
  if (e.payload == Payload::kKv) what = numbered("KV", e.source_rank);
  if (e.payload == Payload::kDkv) what = numbered("dK, dV of", e.source_rank);
  return what + " under way" + numbered(e.peer.value() < 0 ? "" : " to rank", e.peer);
}

std::string titleMeant(const Event& e) {
  const std::map<EventKind, std::string> plain = {
      {EventKind::kShard, "shard"},
      {EventKind::kEmbed, "embed"},
      {EventKind::kProject, "norm, q k v, rotary"},
      {EventKind::kFeedForward, "output projection, norm, MLP"},
      {EventKind::kLoss, "loss"},
      {EventKind::kGradSync, "gradient sync"},
      {EventKind::kClip, "clip"},
      {EventKind::kOptimizer, "optimizer"},
      {EventKind::kPause, "held at a gate"},
      {EventKind::kVerify, "compared with unsharded attention"}};
  if (e.kind == EventKind::kAttend) return numbered("attends KV", e.source_rank);
  if (e.kind == EventKind::kMerge) return numbered("merges KV", e.source_rank);
  if (e.kind == EventKind::kSend) return sendMeant(e);
  if (e.kind == EventKind::kCollective) return "collective: " + payloadMeant(e.payload);
  if (e.kind == EventKind::kWait)
    return "waits for " + payloadMeant(e.payload) +
           numbered(e.peer.value() < 0 ? "" : " from rank", e.peer);
  return plain.at(e.kind);
}

std::string placeMeant(const traces::Place& place) {
  std::string words = "step " + std::to_string(place.train_step);
  if (place.layer.value() >= 0) words += " › layer " + std::to_string(place.layer.value());
  words += place.direction == traces::Direction::kForward ? " › forward" : " › backward";
  if (place.stage.value() >= 0) words += " › ring step " + std::to_string(place.stage.value());
  return words;
}

/// Reads rows one by one; at the end none may be left.
class Rows {
 public:
  explicit Rows(viz::SpanDetails details) : rows_(std::move(details.rows)) {}

  /// The row's value; empty, and a failure where it should be there or should not.
  std::string take(const std::string& name, bool should_be_there) {
    const auto found = std::ranges::find(rows_, name, &std::pair<std::string, std::string>::first);
    EXPECT_EQ(found != rows_.end(), should_be_there) << name;
    if (found == rows_.end()) return "";
    std::string value = found->second;
    rows_.erase(found);
    return value;
  }
  void expectNoMore() const {
    for (const auto& row : rows_) ADD_FAILURE() << "no oracle knows the row " << row.first;
  }

 private:
  std::vector<std::pair<std::string, std::string>> rows_;
};

std::string rowsMeant(int begin, int end) {
  return std::to_string(begin) + "–" + std::to_string(end - 1);
}

void expectTimes(Rows& rows, const Event& e) {
  const bool message = e.kind == EventKind::kSend || e.kind == EventKind::kCollective;
  const auto length = static_cast<double>(e.end_ns - e.begin_ns);
  EXPECT_TRUE(saysDuration(rows.take("wall time", true), length));
  const bool posted = message && e.start_ns > e.begin_ns;
  const std::string before = rows.take("posted before it moved", posted);
  EXPECT_TRUE(!posted || saysDuration(before, static_cast<double>(e.start_ns - e.begin_ns)));
  const bool timed = e.cpu_ns > 0 && length > 0;
  const std::string cpu = rows.take("thread CPU", timed);
  const auto dot = cpu.find(" · ");
  if (timed) {
    ASSERT_NE(dot, std::string::npos) << cpu;
    EXPECT_TRUE(saysDuration(cpu.substr(0, dot), static_cast<double>(e.cpu_ns))) << cpu;
    const std::string rest = cpu.substr(dot + std::string(" · ").size());
    if (e.clock == traces::Clock::kDevice)  // of which a thread's time is no share
      EXPECT_EQ(rest, "to ask the device for it");
    else
      EXPECT_TRUE(saysShare(rest, static_cast<double>(e.cpu_ns) / length)) << cpu;
  }
  const std::string bytes = rows.take("bytes", e.bytes > 0);
  EXPECT_TRUE(e.bytes == 0 || saysBytes(bytes, static_cast<double>(e.bytes))) << bytes;
  const bool moved = message && e.bytes > 0 && e.end_ns > e.start_ns;
  const std::string rate = rows.take("while it moved", moved);
  const double speed = static_cast<double>(e.bytes) / static_cast<double>(e.end_ns - e.start_ns);
  EXPECT_TRUE(!moved || (rate.ends_with(" GB/s") &&
                         saysSignificant(rate.substr(0, rate.size() - 5), speed, 3)))
      << rate;
}

}  // namespace

void expectDetails(const Event& e) {
  const viz::SpanDetails details = viz::spanDetails(e);
  const std::string words = viz::detailWords(details);
  SCOPED_TRACE(words);
  EXPECT_EQ(details.title, titleMeant(e));
  std::string lines = details.title;
  for (const auto& [name, value] : details.rows) lines += "\n" + name + ": " + value;
  EXPECT_EQ(words, lines);
  Rows rows(details);
  EXPECT_EQ(rows.take("rank", true), std::to_string(e.rank.value()));
  EXPECT_EQ(rows.take("place", true), placeMeant(e.place));
  const bool again = e.pass == traces::Pass::kRecompute;
  EXPECT_EQ(rows.take("pass", again), again ? "recompute" : "");
  expectTimes(rows, e);
  const bool attends = e.kind == EventKind::kAttend && e.q_end > e.q_begin && e.k_end > e.k_begin;
  const std::string pairs = rowsMeant(e.q_begin, e.q_end) + " × " + rowsMeant(e.k_begin, e.k_end);
  EXPECT_EQ(rows.take("queries × keys", attends), attends ? pairs : "");
  constexpr const char* kMasks[] = {"full", "causal", "strict", "tile_mask"};
  EXPECT_EQ(rows.take("mask", attends), attends ? kMasks[static_cast<int>(e.mask)] : "");
  const bool micro = e.microbatch > 0, device = e.clock == traces::Clock::kDevice;
  EXPECT_EQ(rows.take("microbatch", micro), micro ? std::to_string(e.microbatch) : "");
  EXPECT_EQ(rows.take("clock", device), device ? "device queue " + std::to_string(e.queue) : "");
  rows.expectNoMore();
}

void expectLabel(const viz::Span& span, std::int64_t bytes) {
  const std::string label = viz::spanLabel(span, bytes);
  const std::map<EventKind, std::string> plain = {
      {EventKind::kMerge, "merge"},    {EventKind::kWait, "wait"},
      {EventKind::kShard, "shard"},    {EventKind::kEmbed, "embed"},
      {EventKind::kLoss, "loss"},      {EventKind::kProject, "norm, q k v"},
      {EventKind::kClip, "clip"},      {EventKind::kFeedForward, "out, MLP"},
      {EventKind::kOptimizer, "step"}, {EventKind::kGradSync, "sync"},
      {EventKind::kPause, "paused"},   {EventKind::kVerify, "verify"}};
  const auto kind = static_cast<EventKind>(span.kind);
  if (kind == EventKind::kAttend) {
    EXPECT_EQ(label, numbered("KV", traces::WorldRank::of(span.source)));
  } else if (kind == EventKind::kSend) {
    EXPECT_TRUE(bytes == 0 ? label.empty() : saysBytes(label, static_cast<double>(bytes))) << label;
  } else if (kind == EventKind::kCollective) {
    const std::string what = payloadMeant(static_cast<Payload>(span.payload));
    ASSERT_TRUE(label.starts_with(what)) << label;
    EXPECT_TRUE(bytes == 0 ? label == what
                           : saysBytes(label.substr(what.size() + 1), static_cast<double>(bytes)))
        << label;
  } else {
    EXPECT_EQ(label, plain.at(kind));
  }
}

}  // namespace ringscope::facts
