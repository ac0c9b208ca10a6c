// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QSettings>
#include <QSplitter>

namespace ringscope::viz {

/// The window's parts with borders between them that can be moved: run panel, stage and inspector
/// beside each other, the timeline with its controls under them. Until a border is moved the parts
/// keep their proportions; a double click on a border brings those back.
class Panes : public QSplitter {
  Q_OBJECT
 public:
  struct Parts {
    QWidget *left, *stage, *right, *controls, *timeline;
  };
  Panes(const Parts& parts, QWidget* parent);

  void reset();
  /// Without it the controls alone stay under the stage.
  void showTimeline(bool shown);
  /// After a part has been shown or hidden.
  void partsChanged() {
    if (!moved_) reset();
  }
  void save(QSettings& settings) const;
  void restore(const QSettings& settings);

 protected:
  void resizeEvent(QResizeEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void followHandles(QSplitter& splitter);

  Parts parts_;
  QSplitter* columns_;
  QWidget* lower_;
  bool moved_ = false;  // by hand
  QList<int> rows_with_timeline_;
};

}  // namespace ringscope::viz
