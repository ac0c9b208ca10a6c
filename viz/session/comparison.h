// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>
#include <QString>
#include <atomic>
#include <memory>
#include <optional>

#include "viz/scene/compared_map.h"
#include "viz/scene/compared_runs.h"
#include "viz/session/session.h"

namespace ringscope::viz {

/// The recording that a session's is compared with, and what came of it. Both are compared off the
/// window's thread. When another recording is opened, or a live run has become one, it is compared
/// anew. GUI thread only.
class Comparison : public QObject {
  Q_OBJECT
 public:
  enum class State {
    kNone,       ///< there is no other recording
    kWaiting,    ///< what is on show is no file yet
    kComparing,  ///< under way
    kDone,       ///< runs() has it
    kFailed,     ///< problem() says why
  };
  explicit Comparison(const Session& session, QObject* parent = nullptr);

  /// Compares with this recording from now on; `floor`: a second one of the same run, or empty.
  void with(const QString& other, const QString& floor = {});
  /// The same with what a what-if began from.
  void withBefore(std::shared_ptr<RecordedFile> before);
  /// Again with a second recording of the other run, which says by how much equal runs differ.
  void withFloor(const QString& floor);
  /// Ends what is under way; the other recording is forgotten.
  void close();

  State state() const { return state_; }
  /// Return the paths of the other recordings; empty when there are none.
  QString other() const;
  QString floor() const;
  /// The other recording; null when there is none.
  const std::shared_ptr<RecordedFile>& otherFile() const { return other_; }
  /// Reports whether a what-if is on show, and the other recording is the run that it began from.
  bool before() const { return before_; }
  const QString& problem() const { return problem_; }
  /// How much of it is done, 0 to 1.
  double progress() const { return *progress_; }
  /// Null unless it is done.
  const std::shared_ptr<const ComparedRuns>& runs() const { return runs_; }

  /// Requests the differences of both in a tensor from a thread, which ends with mapChanged(). A
  /// tensor without rows by token has an empty map at once. A repeated request does nothing. Needs
  /// runs().
  void askMap(const MapSubject& subject);
  /// Returns the map that was requested last; null while it is made, or when mapProblem() says why.
  const std::shared_ptr<const traces::DifferenceMap>& map() const { return map_; }
  const QString& mapProblem() const { return map_problem_; }
  bool makesMap() const { return map_of_ && !map_ && map_problem_.isEmpty(); }

 Q_SIGNALS:
  void changed();
  void mapChanged();
  /// Both are to be shown in every view, at the same place.
  void besideRequested();

 private:
  void follow();
  void beginWith(std::shared_ptr<RecordedFile> other, std::shared_ptr<RecordedFile> floor,
                 bool before);
  void start();
  void set(State state, const QString& problem = {});
  void takeMap(const std::shared_ptr<const traces::DifferenceMap>& map, const QString& problem);

  const Session& session_;
  std::shared_ptr<RecordedFile> run_, other_, floor_;
  QString problem_;
  State state_ = State::kNone;
  bool before_ = false;
  std::shared_ptr<const ComparedRuns> runs_;
  std::shared_ptr<std::atomic<double>> progress_ = std::make_shared<std::atomic<double>>(0);
  std::optional<MapSubject> map_of_;
  std::shared_ptr<const traces::DifferenceMap> map_;
  QString map_problem_;
  Background background_;
};

}  // namespace ringscope::viz
