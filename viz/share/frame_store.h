// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QHash>
#include <nlohmann/json.hpp>

#include "viz/share/shape_recorder.h"

namespace ringscope::viz {

/// The frames of a page. Elements, styles and whole frames that are equal are stored once. A frame
/// is drawn in a dark and a light theme; what differs are mostly the colours, which are styles.
class FrameStore {
 public:
  Definitions& definitions() { return definitions_; }

  /// Adds a picture. Returns its index among the frames.
  int add(const std::vector<Shape>& dark, const std::vector<Shape>& light, const QSizeF& size);

  /// Returns {"elements": [markup, …], "frames": [{"size": [w, h], "elements": "0-40,57"}, …]}.
  nlohmann::json toJson() const;
  /// Returns the rules of all styles, under the classes `dark` and `light` of the page.
  QByteArray styleSheet() const;
  const QByteArray& definitionMarkup() const { return definitions_.markup(); }
  int count() const { return static_cast<int>(frames_.size()); }

 private:
  struct Frame {
    QSizeF size;
    QByteArray elements;  ///< ranges of indices: "0-40,57"
  };
  QByteArray className(const QByteArray& dark, const QByteArray& light);
  int elementIndex(const QByteArray& markup);
  void addMerged(const Shape& dark, const Shape& light, std::vector<int>& into);

  Definitions definitions_;
  QHash<QByteArray, int> elements_, styles_, known_frames_;
  std::vector<QByteArray> element_list_;
  std::vector<std::pair<QByteArray, QByteArray>> style_list_;
  std::vector<Frame> frames_;
};

}  // namespace ringscope::viz
