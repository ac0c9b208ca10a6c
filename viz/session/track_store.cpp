// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/session/track_store.h"

#include "traces/format/trace/trace.h"

namespace ringscope::viz {
namespace {

/// As many are read in a few hundredths of a second.
constexpr std::size_t kAtOnce = 60'000;

std::shared_ptr<const Tracks> readTracks(const traces::Trace& trace, const std::stop_token& stop,
                                         std::atomic<double>& progress) {
  TracksBuilder builder;
  const std::size_t events = trace.eventCount();
  std::size_t taken = 0;
  trace.visitEvents([&](std::span<const traces::Event> some) {
    for (const traces::Event& event : some) builder.take(event);
    taken += some.size();
    progress = static_cast<double>(taken) / static_cast<double>(events);
    return !stop.stop_requested();
  });
  return stop.stop_requested() ? nullptr : builder.finish();
}

}  // namespace

TrackStore::TrackStore(QObject* parent) : QObject(parent) {
  connect(&background_, &Background::failed, this, [this] {
    reading_ = false;  // those of a few training steps are left
    Q_EMIT arrived();
  });
}

bool TrackStore::hasFewEvents(const traces::Trace& trace) {
  return trace.eventCount() <= kAtOnce;
}

void TrackStore::clear() {
  whole_.reset();
  some_.reset();
  whole_data_ = some_data_ = {};
  some_step_ = -1;
  reading_ = from_file_ = false;
  background_.cancel("tracks");
}

void TrackStore::open(const std::shared_ptr<const traces::Trace>& trace) {
  clear();
  if (hasFewEvents(*trace)) return;
  reading_ = true;
  progress_ = std::make_shared<std::atomic<double>>(0);
  background_.request(
      "tracks",
      [trace, progress = progress_](const std::stop_token& stop) {
        return readTracks(*trace, stop, *progress);
      },
      [this](const std::shared_ptr<const Tracks>& tracks) {
        whole_ = tracks;
        reading_ = false;
        from_file_ = true;
        Q_EMIT arrived();
      });
}

/// A live run brings more every frame: twice a second is enough.
bool TrackStore::soon(bool live) const {
  return live && since_some_.isValid() && since_some_.elapsed() < 500;
}

std::shared_ptr<const Tracks> TrackStore::tracks(const traces::Trace& trace, bool live,
                                                 const DataStamp& data, std::int32_t train_step) {
  if (from_file_) return whole_;
  if (!live && hasFewEvents(trace)) {
    if (!whole_ || whole_data_ != data) whole_ = makeTracks(trace);
    whole_data_ = data;
    return whole_;
  }
  const bool same = some_ && some_step_ == train_step && some_data_.generation == data.generation;
  if (same && (some_data_ == data || soon(live))) return some_;
  some_ = makeTracks(trace, train_step - 1, train_step + 1);
  some_step_ = train_step;
  some_data_ = data;
  since_some_.start();
  return some_;
}

}  // namespace ringscope::viz
