// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>
#include <QString>
#include <memory>
#include <optional>

#include "traces/diff/summary.h"
#include "traces/doctor/diagnosis.h"
#include "traces/query/moment_index.h"
#include "traces/query/trace.h"
#include "viz/hub/live_read.h"
#include "viz/scene/ring_scene.h"

namespace ringscope::viz {

enum class Axis { kRingStep, kTime };

/// What every view observes: the trace, the viewed moment and the live head. No view calls another;
/// all of them change the hub and repaint on its signals. GUI thread only.
class Hub : public QObject {
  Q_OBJECT
 public:
  explicit Hub(QObject* parent = nullptr);

  /// Starts over with an opened trace, or with an empty one that a live run fills.
  void setTrace(std::shared_ptr<traces::Trace> trace, const QString& name, bool live);
  void addChunk(const traces::Chunk& chunk);
  /// Tells the views what addChunk() has brought; called once a frame, not once a chunk.
  void publish();

  const traces::Trace& trace() const { return *trace_; }
  /// The same trace for another hub; only while no chunks are being added.
  std::shared_ptr<traces::Trace> shareTrace() const { return trace_; }
  const traces::MomentIndex& index() const { return index_; }
  const traces::WorstDiffs& worst() const { return worst_; }
  const QString& name() const { return name_; }
  bool live() const { return live_; }
  void setLive(bool live);
  std::uint64_t lastChunk() const { return last_chunk_; }

  /// The viewed moment: an index into trace().moments() and how far into that ring step, 0 to 1.
  int moment() const { return moment_; }
  double phase() const { return phase_; }
  bool empty() const { return trace_->moments().empty(); }
  Place place() const;
  void setMoment(int moment, double phase);
  void setPlace(const Place& place);
  /// To the ring step that the selected rank was in at this time, and as far into it.
  void setInstant(std::int64_t ns);
  /// By whole ring steps; stops at both ends.
  void move(int moments);
  /// To the same ring step of another training step.
  void moveTrainStep(int steps);
  /// To the layer and direction of the next divergence, in the order of dependence; round again at
  /// the end.
  void nextDivergence();
  /// On the animation clock; stops playing at the end of a finished recording.
  void advance(double seconds);

  bool playing() const { return playing_; }
  void setPlaying(bool playing);
  double speed() const { return speed_; }
  void setSpeed(double speed);
  Axis axis() const { return axis_; }
  void setAxis(Axis axis);
  bool following() const { return following_; }
  void setFollowing(bool following);
  int selectedRank() const { return selected_rank_; }
  void selectRank(int rank);
  /// The tensor that the Diff and Tensor views show.
  const QString& tensor() const { return tensor_; }
  void selectTensor(const QString& name);
  /// Leads to a place in a view.
  void lead(const QString& view, const Place& place);

  /// True while the live run stands still and its tensors can be read.
  bool paused() const { return paused_; }
  void setPaused(bool paused);
  void requestLiveRead(const LiveRead& asked) { Q_EMIT liveReadRequested(asked); }
  /// What the paused run holds; empty until requestLiveTensors() has been answered.
  const std::vector<LiveTensor>& liveTensors() const { return live_tensors_; }
  void requestLiveTensors() { Q_EMIT liveTensorsRequested(); }
  void setLiveTensors(std::vector<LiveTensor> tensors);
  /// The last answer.
  const std::optional<LiveRead>& liveRead() const { return live_read_; }
  void setLiveRead(LiveRead read);

  /// Without motion a ring step is shown as it ends, and playing goes from one to the next.
  bool reducedMotion() const { return reduced_motion_; }
  void setReducedMotion(bool reduced);

  /// What all ranks do at the viewed moment, and how far each is in its own ring step.
  const RingScene& scene() const;
  double phaseOf(const RankScene& rank) const;
  /// The instant on the run clock that the selected rank's phase stands for.
  std::int64_t instant() const;

  const std::optional<traces::Diagnosis>& diagnosis() const { return diagnosis_; }
  void setDiagnosis(traces::Diagnosis diagnosis);

 Q_SIGNALS:
  void traceChanged();
  void cursorChanged();
  void stateChanged();
  /// Something leads the cursor away from here; the window can come back.
  void leaving(const Place& from);
  void viewRequested(const QString& name);
  void liveReadRequested(const LiveRead& asked);
  void liveTensorsRequested();
  void liveTensorsArrived();
  void liveReadArrived();

 private:
  void tieToHead();
  void advanceWithoutMotion(double seconds);
  std::vector<Place> placesOfRanks() const;
  Place placeAt(int rank, std::int64_t instant) const;

  std::shared_ptr<traces::Trace> trace_;
  traces::MomentIndex index_;
  traces::WorstDiffs worst_;
  QString name_;
  bool live_ = false;
  bool dirty_ = false;
  std::uint64_t last_chunk_ = 0;
  int moment_ = 0;
  double phase_ = 0;
  bool playing_ = false;
  bool following_ = false;
  double speed_ = 1;
  Axis axis_ = Axis::kRingStep;
  int selected_rank_ = 0;
  QString tensor_ = "out";
  bool paused_ = false;
  std::optional<LiveRead> live_read_;
  std::vector<LiveTensor> live_tensors_;
  bool reduced_motion_ = false;
  double still_for_ = 0;  // seconds that the shown ring step has stood, without motion
  std::size_t next_divergence_ = 0;
  std::optional<traces::Diagnosis> diagnosis_;
  mutable std::optional<RingScene> scene_;
};

}  // namespace ringscope::viz
