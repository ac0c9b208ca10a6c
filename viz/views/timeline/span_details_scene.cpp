// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/timeline/span_details_scene.h"

#include "traces/format/trace/trace.h"
#include "viz/scene/units.h"

namespace ringscope::viz {

using traces::Event;
using traces::EventKind;
using traces::Payload;

namespace {

EventKind kindOf(const Span& span) {
  return static_cast<EventKind>(span.kind);
}

std::string block(const char* before, WorldRank source) {
  return source.exists() ? before + (" " + toString(source)) : before;
}

std::string payloadWords(Payload payload) {
  switch (payload) {
    case Payload::kKv:
      return "KV";
    case Payload::kDkv:
      return "dK, dV";
    case Payload::kGrads:
      return "gradients";
    case Payload::kNone:
      return "a message";
    default:
      return name(payload);
  }
}

std::string titleFor(const Event& e) {
  switch (e.kind) {
    case EventKind::kAttend:
      return block("attends KV", e.source_rank);
    case EventKind::kMerge:
      return block("merges KV", e.source_rank);
    case EventKind::kWait:
      return "waits for " + payloadWords(e.payload) +
             (e.peer.exists() ? " from rank " + toString(e.peer) : "");
    case EventKind::kSend:
      return (e.payload == Payload::kKv    ? block("KV", e.source_rank)
              : e.payload == Payload::kDkv ? block("dK, dV of", e.source_rank)
                                           : payloadWords(e.payload)) +
             " under way" + (e.peer.exists() ? " to rank " + toString(e.peer) : "");
    case EventKind::kCollective:
      return "collective: " + payloadWords(e.payload);
    case EventKind::kPause:
      return "held at a gate";
    case EventKind::kProject:
      return "norm, q k v, rotary";
    case EventKind::kFeedForward:
      return "output projection, norm, MLP";
    case EventKind::kVerify:
      return "compared with unsharded attention";
    case EventKind::kGradSync:
      return "gradient sync";
    default:
      return name(e.kind);
  }
}

std::string rowsText(std::int32_t begin, std::int32_t end) {
  return std::to_string(begin) + "–" + std::to_string(end - 1);
}

}  // namespace

std::optional<Span> spanAt(const SpanTree& lane, double axis_ns, double tolerance_ns) {
  std::optional<Span> found;
  lane.visit(
      axis_ns - tolerance_ns, axis_ns + tolerance_ns, -1, [](const SpanSum&, std::size_t) {},
      [&](std::size_t i) {
        const Span& span = lane[i];
        const auto distance = [&](const Span& of) {
          return std::max({0.0, static_cast<double>(of.begin_ns) - axis_ns,
                           axis_ns - static_cast<double>(of.end_ns)});
        };
        if (!found || distance(span) < distance(*found) ||
            (distance(span) == distance(*found) && span.length() < found->length()))
          found = span;
      });
  return found;
}

std::string spanLabel(const Span& span, std::int64_t bytes) {
  switch (kindOf(span)) {
    case EventKind::kAttend:
      return block("KV", WorldRank::of(span.source));
    case EventKind::kMerge:
      return "merge";
    case EventKind::kProject:
      return "norm, q k v";
    case EventKind::kFeedForward:
      return "out, MLP";
    case EventKind::kGradSync:
      return "sync";
    case EventKind::kOptimizer:
      return "step";
    case EventKind::kSend:
      return bytes > 0 ? describeBytes(bytes) : "";
    case EventKind::kCollective:
      return payloadWords(static_cast<Payload>(span.payload)) +
             (bytes > 0 ? " " + describeBytes(bytes) : "");
    case EventKind::kPause:
      return "paused";
    default:
      return name(kindOf(span));
  }
}

std::vector<Event> spanEvents(const traces::Trace& trace, const Tracks& tracks,
                              const SpanPlace& at) {
  const std::int64_t begin = tracks.folds.unfolded(at.span.begin_ns);
  std::vector<Event> alike, nearly;
  // Times that the axis leaves out lie on one point of it.
  const std::int64_t end = tracks.folds.unfolded(at.span.begin_ns + 1);
  for (const Event& event : trace.eventsBetween(at.rank, begin, end)) {
    if (static_cast<std::uint8_t>(event.kind) != at.span.kind ||
        static_cast<std::uint8_t>(event.payload) != at.span.payload ||
        tracks.folds.folded(event.begin_ns) != at.span.begin_ns ||
        event.source_rank.value() != at.span.source || event.peer.value() != at.span.peer_index)
      continue;
    (tracks.folds.folded(event.end_ns) == at.span.end_ns ? alike : nearly).push_back(event);
  }
  return alike.empty() ? nearly : alike;
}

std::optional<Event> spanEvent(const traces::Trace& trace, const Tracks& tracks,
                               const SpanPlace& at) {
  const std::vector<Event> events = spanEvents(trace, tracks, at);
  return events.empty() ? std::nullopt : std::optional(events.front());
}

SpanDetails spanDetails(const Event& e) {
  SpanDetails details{titleFor(e), {}};
  const auto row = [&](const char* what, const std::string& value) {
    details.rows.emplace_back(what, value);
  };
  row("rank", toString(e.rank));
  row("place", describe(e.place));
  if (e.pass == traces::Pass::kRecompute) row("pass", "recompute");
  row("wall time", describeDuration(e.duration()));
  const bool message = e.kind == EventKind::kSend || e.kind == EventKind::kCollective;
  if (message && e.start_ns > e.begin_ns)
    row("posted before it moved", describeDuration(e.start_ns - e.begin_ns));
  const bool by_device = e.clock == traces::Clock::kDevice;
  if (e.cpu_ns > 0 && e.duration() > 0)
    row("thread CPU", describeDuration(e.cpu_ns) + " · " +
                          (by_device ? "to ask the device for it"
                                     : traces::describeShare(static_cast<double>(e.cpu_ns) /
                                                             static_cast<double>(e.duration()))));
  if (e.bytes > 0) row("bytes", describeBytes(e.bytes));
  if (message && e.bytes > 0 && e.end_ns > e.start_ns)
    row("while it moved",
        traces::describeSignificant(
            static_cast<double>(e.bytes) / static_cast<double>(e.end_ns - e.start_ns), 3) +
            " GB/s");
  if (e.kind == EventKind::kAttend && e.q_end > e.q_begin && e.k_end > e.k_begin) {
    row("queries × keys", rowsText(e.q_begin, e.q_end) + " × " + rowsText(e.k_begin, e.k_end));
    row("mask", name(e.mask));
  }
  if (e.microbatch > 0) row("microbatch", std::to_string(e.microbatch));
  if (by_device) row("clock", "device queue " + std::to_string(e.queue));
  return details;
}

std::string detailWords(const SpanDetails& details) {
  std::string words = details.title;
  for (const auto& [what, value] : details.rows)
    words.append("\n").append(what).append(": ").append(value);
  return words;
}

}  // namespace ringscope::viz
