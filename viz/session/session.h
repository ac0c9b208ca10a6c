// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>
#include <QString>
#include <memory>
#include <optional>

#include "traces/analysis/diff/summary.h"
#include "traces/analysis/doctor/diagnosis.h"
#include "traces/format/trace/trace.h"
#include "viz/scene/position_rows.h"
#include "viz/scene/recorded_file.h"
#include "viz/scene/ring_scene.h"
#include "viz/session/background.h"
#include "viz/session/kept.h"
#include "viz/session/track_store.h"

namespace ringscope::viz {

/// The data on show, and what was computed from it. Knows no view and no cursor. GUI thread only;
/// what it computes elsewhere comes back as finished values, and only for the trace that is still
/// on show.
class Session : public QObject {
  Q_OBJECT
 public:
  explicit Session(QObject* parent = nullptr);

  /// Starts over with a trace, which this class never changes; live runs begin with an empty one.
  /// The trace of a file is given with the file, so that nothing opens it again.
  void open(std::shared_ptr<const traces::Trace> trace, const QString& name, bool live,
            std::shared_ptr<RecordedFile> file = nullptr);
  /// Adds a chunk of a live run to a trace of this session.
  void addChunk(const traces::Chunk& chunk);
  /// The recording on show, read again with more in it: cursors stay where they are.
  void grow(std::shared_ptr<const traces::Trace> trace);
  /// Tells what addChunk() has brought; called once a frame, not once a chunk.
  void publish();

  const traces::Trace& trace() const { return *trace_; }
  /// Returns the trace on show as it is now, for another session or another thread.
  std::shared_ptr<const traces::Trace> shareTrace() const {
    return growing_ ? growing_->snapshot() : trace_;
  }
  const traces::WorstDiffs& worst() const { return worst_; }
  const QString& name() const { return name_; }
  bool live() const { return live_; }
  void setLive(bool live);

  /// Changes with every trace that is opened or read again. Ids of an older trace mean nothing.
  int generation() const { return counts_.generation; }
  /// Changes with every recording that is opened.
  int recording() const { return counts_.recording; }
  /// Changes with everything that this class tells: a value from an older version is stale.
  std::uint64_t version() const { return counts_.version; }
  /// Identifies the trace on show and how much of it there is, for whoever keeps what it computed.
  DataStamp data() const { return {counts_.generation, counts_.data}; }

  /// Several views draw these; each is made once for a cursor and the data.
  std::shared_ptr<const RingScene> ring(const Cursor& cursor) const;
  std::shared_ptr<const PositionStrip> positions(const Cursor& cursor) const;

  /// Returns the tracks that show a training step, as far as they are read.
  std::shared_ptr<const Tracks> tracks(std::int32_t train_step) const {
    return tracks_.tracks(*trace_, live_, data(), train_step);
  }
  /// Reads all events of a large recording on a thread.
  void readTracks() { tracks_.open(trace_); }
  /// How much of that is done, 0 to 1.
  double tracksRead() const { return tracks_.progress(); }

  /// When a rank was held, or all were at once; of a recording with many events, as soon as they
  /// have been read.
  TimeFolds pauses(WorldRank rank) const;

  /// Asks the doctor about a recording, off this thread; diagnosis() has the answer later. A file
  /// that cannot be read gives one without answers, which says why.
  void diagnose(const QString& path);
  /// Returns the complete file on show; null while there is none.
  const std::shared_ptr<RecordedFile>& file() const { return file_; }
  QString path() const { return file_ ? QString::fromStdString(file_->path()) : QString(); }
  const std::optional<traces::Diagnosis>& diagnosis() const { return diagnosis_; }
  void setDiagnosis(traces::Diagnosis diagnosis);

 Q_SIGNALS:
  /// Another trace, or more of it.
  void dataChanged();
  /// Live or not, a diagnosis: anything else.
  void stateChanged();

 private:
  /// A ring scene also depends on whether the run is live.
  struct RingKey {
    Cursor cursor;
    bool live = false;
    friend bool operator==(const RingKey&, const RingKey&) = default;
  };
  void dataHasChanged();

  std::shared_ptr<const traces::Trace> trace_;
  std::shared_ptr<traces::Trace> growing_;  // the same, as soon as chunks are added
  std::shared_ptr<RecordedFile> file_;
  traces::WorstDiffs worst_;
  QString name_;
  bool live_ = false;
  bool was_live_ = false;  // what is on show came while it was recorded, and is all in memory
  bool dirty_ = false;
  struct {
    int generation = 0, recording = 0;
    std::uint64_t version = 1, data = 1;
  } counts_;
  std::optional<traces::Diagnosis> diagnosis_;
  mutable Kept<RingKey, RingScene> ring_;
  mutable Kept<Cursor, PositionStrip> positions_;
  mutable TrackStore tracks_;
  Background background_;
};

}  // namespace ringscope::viz
