// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>

#include "viz/style/theme.h"
#include "viz/views/timeline/account_scene.h"
#include "viz/views/timeline/span_details_scene.h"

namespace ringscope::viz {

/// Writes headings, sentences and rows of numbers from the top of a panel down.
class PanelWriter {
 public:
  PanelWriter(QPainter& painter, const QRectF& area, const Theme& theme)
      : p_(painter), area_(area), theme_(theme), y_(area.top()) {}

 protected:
  /// Writes words unless the edge of the panel would cut them.
  void say(const QRectF& box, int flags, const QString& words);
  void section(const QString& words);
  void sentence(const std::string& words, const QColor& color);
  void number(double right, double width, const QString& words, const QColor& color, double row);
  void name(const QString& words, const QColor& color, double row);
  /// Returns the box of a row's words, which may be higher than a low row.
  QRectF rowBox(double left, double width, double row) const;
  void rows(const std::vector<std::pair<std::string, std::string>>& rows);
  /// A section of rows.
  void table(const AccountSection& of);
  void details(const SpanDetails& selected);

  QPainter& p_;
  QRectF area_;
  const Theme& theme_;
  double y_;
};

}  // namespace ringscope::viz
