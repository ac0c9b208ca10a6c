// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <atomic>
#include <memory>

#include "viz/scene/tracks.h"
#include "viz/session/background.h"
#include "viz/session/kept.h"

namespace ringscope::viz {

/// The tracks of the recording on show. A thread reads a recording with many events chunk by chunk,
/// without keeping the chunks. Until it is done, and while a run goes on,
/// there are the tracks of the training steps near the requested one.
class TrackStore : public QObject {
  Q_OBJECT
 public:
  explicit TrackStore(QObject* parent = nullptr);

  /// Returns the tracks of the whole recording, or while they are not known those round this
  /// training step. `data` identifies `trace`.
  std::shared_ptr<const Tracks> tracks(const traces::Trace& trace, bool live, const DataStamp& data,
                                       std::int32_t train_step);
  /// Forgets what there was, and reads the trace on a thread when it has too many events to be read
  /// at once.
  void open(const std::shared_ptr<const traces::Trace>& trace);
  void clear();
  /// Returns the tracks of a file with many events after it has been read; else null.
  std::shared_ptr<const Tracks> ofFile() const { return from_file_ ? whole_ : nullptr; }
  /// There are so few events that all are read at once.
  static bool hasFewEvents(const traces::Trace& trace);
  /// How much of the file has been read, 0 to 1; 1: nothing is being read.
  double progress() const { return reading_ ? progress_->load() : 1; }

 Q_SIGNALS:
  /// There are those of the whole recording, or there will be none.
  void arrived();

 private:
  bool soon(bool live) const;

  std::shared_ptr<const Tracks> whole_, some_;
  DataStamp whole_data_, some_data_;  // from which whole_ and some_ were made
  std::int32_t some_step_ = -1;
  QElapsedTimer since_some_;
  bool reading_ = false, from_file_ = false;
  std::shared_ptr<std::atomic<double>> progress_ = std::make_shared<std::atomic<double>>(0);
  Background background_;
};

}  // namespace ringscope::viz
