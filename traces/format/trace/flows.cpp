// SPDX-License-Identifier: Apache-2.0
#include "traces/format/trace/flows.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "traces/format/trace/steps.h"

namespace ringscope::traces {

Flows::Flows(const Trace& trace, Payload payload) : trace_(trace), payload_(payload) {
  steps_ = trace.trainingSteps();
}

void Flows::fetch() {
  while (ready_.empty() && next_ < steps_.size()) readStep(steps_[next_++]);
  if (ready_.empty() && !finished_) finish();
}

void Flows::readStep(std::int32_t train_step) {
  for (int rank = 0; rank < trace_.worldSize(); ++rank)
    for (const Event& event :
         trace_.eventsAt(firstPlaceIn(train_step), lastPlaceIn(train_step), WorldRank::of(rank)))
      if (event.payload == payload_ &&
          (event.kind == EventKind::kSend || event.kind == EventKind::kReceive))
        take(event);
}

void Flows::take(const Event& event) {
  Flow& flow = event.flow == 0 ? unnumbered_ : open_[event.flow];
  (event.kind == EventKind::kSend ? flow.send : flow.receive) =
      std::make_shared<const Event>(event);
  if (event.flow == 0 || !flow.send || !flow.receive) return;
  matched_.push_back(event.flow);
  ready_.push_back(std::move(flow));
  open_.erase(event.flow);
}

/// Appends the messages without another end. An event whose flow number also belongs to a matched
/// message is left out.
void Flows::finish() {
  finished_ = true;
  std::ranges::sort(matched_);
  std::vector<Flow> rest;
  for (auto& [number, flow] : open_)
    if (!std::ranges::binary_search(matched_, number)) rest.push_back(std::move(flow));
  open_.clear();
  if (unnumbered_.send || unnumbered_.receive) rest.push_back(std::move(unnumbered_));
  const auto order = [](const Flow& flow) {
    const Event& event = flow.send ? *flow.send : *flow.receive;
    return std::tuple(event.rank.value(), event.place.train_step, event.end_ns, event.flow);
  };
  std::ranges::sort(rest, {}, order);
  for (Flow& flow : rest) ready_.push_back(std::move(flow));
}

HopCount countHops(const Trace& trace, WorldRank rank, Payload payload, std::int32_t train_step,
                   Layer layer, Direction direction) {
  HopCount count;
  const Place first{train_step, layer, direction, RingStep::none()};
  Place last = first;
  last.stage = RingStep::of(std::numeric_limits<RingStep::Value>::max());
  for (const Event& event : trace.eventsAt(first, last, rank)) {
    if (event.kind != EventKind::kSend || event.payload != payload) continue;
    ++count.hops;
    count.bytes += event.bytes;
  }
  return count;
}

}  // namespace ringscope::traces
