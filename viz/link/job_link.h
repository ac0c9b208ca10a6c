// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QString>
#include <QTimer>
#include <memory>
#include <optional>

#include "traces/analysis/doctor/diagnosis.h"
#include "traces/exchange/live/listener.h"
#include "traces/format/trace/trace.h"
#include "viz/session/background.h"

namespace ringscope::viz {

/// A user's job that sends its recording while it runs. A thread reads the
/// recording again and again, for at most a quarter of the time. GUI thread only.
class JobLink : public QObject {
  Q_OBJECT
 public:
  explicit JobLink(QObject* parent = nullptr);

  /// Throws Error when it cannot listen there.
  void listen(traces::ListenOptions options);
  bool listening() const { return listener_ != nullptr; }
  const traces::JobSeen& job() const { return job_; }
  /// Returns the recording as it was read last; null before the first time.
  const std::shared_ptr<traces::Trace>& trace() const { return trace_; }
  const std::optional<traces::Diagnosis>& diagnosis() const { return diagnosis_; }
  /// Why the last reading failed; empty: it did not.
  const QString& problem() const { return problem_; }
  /// Whether a rank of the job is connected.
  bool live() const { return job_.isHere(); }

  /// "listening at … ", "2 ranks · training step 3 has ended": one sentence.
  QString sentence() const;
  /// Returns the setting that makes a job send its recording here: "RINGSCOPE_LIVE=… ".
  QString invitation() const;
  /// Says which rank waits for which when the wait has lasted; else empty.
  QString waits() const { return waits_; }

  /// Holds the job at its next step border, or lets it go on.
  void pause();
  /// Lets a held job go on to its next step border.
  void step();

 Q_SIGNALS:
  void jobBegan();
  /// trace() and diagnosis() are others.
  void grew();
  /// All ranks have gone, and their recording has been read to its end.
  void jobEnded();
  /// The sentence, or who waits.
  void changed();

 private:
  void look();
  void read();
  void take(const std::shared_ptr<traces::Trace>& trace,
            const std::optional<traces::Diagnosis>& diagnosis);
  void tell();

  std::unique_ptr<traces::Listener> listener_;
  traces::JobSeen job_;
  std::shared_ptr<traces::Trace> trace_;
  std::optional<traces::Diagnosis> diagnosis_;
  QString waits_, told_, problem_;
  QTimer timer_;
  std::uint64_t lines_read_ = 0;  // of those that have come
  std::int64_t border_read_ = -1;
  bool reading_ = false, over_ = true;
  QElapsedTimer since_read_, reading_for_;
  qint64 rest_ms_ = 0;  // until it is read again
  Background background_;
};

}  // namespace ringscope::viz
