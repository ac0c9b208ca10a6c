// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAbstractButton>
#include <QToolButton>
#include <QVBoxLayout>
#include <vector>

namespace ringscope::viz {

/// A recording of the start page's list, in words.
struct RecentRecording {
  QString path, name, state, time;

  friend bool operator==(const RecentRecording&, const RecentRecording&) = default;
};

/// The recordings that were used last, one button each.
class RecentList : public QWidget {
  Q_OBJECT
 public:
  explicit RecentList(QWidget* parent);

  /// Shows the first `most` of these. The list is hidden while there are none.
  void setRecordings(const std::vector<RecentRecording>& recordings, std::size_t most);

 Q_SIGNALS:
  void chosen(const QString& path);
  void allRequested();

 private:
  QVBoxLayout* lines_;
  std::vector<RecentRecording> shown_;
};

}  // namespace ringscope::viz
