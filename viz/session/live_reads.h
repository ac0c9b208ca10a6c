// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>
#include <optional>
#include <vector>

#include "viz/scene/live_read.h"

namespace ringscope::viz {

/// The tensors of a paused live run, and the values that were read. Requests are signals, which the
/// connection to the run answers.
class LiveReads : public QObject {
  Q_OBJECT
 public:
  using QObject::QObject;

  /// Reports whether the live run is paused, so that its tensors can be read. A change forgets the
  /// values that were read before.
  bool possible() const { return possible_; }
  void setPossible(bool possible) {
    if (possible_ == possible) return;
    possible_ = possible;
    read_.reset();
    tensors_.clear();
    Q_EMIT changed();
  }

  /// Returns the tensors of the run; empty until ask() has been answered.
  const std::vector<LiveTensor>& tensors() const { return tensors_; }
  void ask() { Q_EMIT tensorsRequested(); }
  void setTensors(std::vector<LiveTensor> tensors) {
    tensors_ = std::move(tensors);
    Q_EMIT changed();
  }

  /// The last answer.
  const std::optional<LiveRead>& read() const { return read_; }
  void ask(const LiveRead& asked) { Q_EMIT readRequested(asked); }
  void setRead(LiveRead read) {
    read_ = std::move(read);
    Q_EMIT readArrived();
    Q_EMIT changed();
  }

 Q_SIGNALS:
  void changed();
  void readArrived();
  void tensorsRequested();
  void readRequested(const LiveRead& asked);

 private:
  bool possible_ = false;
  std::optional<LiveRead> read_;
  std::vector<LiveTensor> tensors_;
};

}  // namespace ringscope::viz
