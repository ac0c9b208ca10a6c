// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/share/frame_store.h"

#include <cmath>

namespace ringscope::viz {
namespace {

/// Formats indices as ranges: "0-40,57".
QByteArray rangesText(const std::vector<int>& indices) {
  QByteArray text;
  for (std::size_t i = 0; i < indices.size();) {
    std::size_t end = i + 1;
    while (end < indices.size() && indices[end] == indices[end - 1] + 1) ++end;
    if (!text.isEmpty()) text += ",";
    text += QByteArray::number(indices[i]);
    if (end - i > 1) text += "-" + QByteArray::number(indices[end - 1]);
    i = end;
  }
  return text;
}

bool hasSameGeometry(const Shape& a, const Shape& b) {
  return a.tag == b.tag && a.geometry == b.geometry && a.content == b.content;
}

}  // namespace

QByteArray FrameStore::className(const QByteArray& dark, const QByteArray& light) {
  const QByteArray key = dark + "\n" + light;
  auto found = styles_.constFind(key);
  if (found == styles_.constEnd()) {
    found = styles_.insert(key, static_cast<int>(style_list_.size()));
    style_list_.emplace_back(dark, light);
  }
  return "s" + QByteArray::number(*found);
}

int FrameStore::elementIndex(const QByteArray& markup) {
  const auto found = elements_.constFind(markup);
  if (found != elements_.constEnd()) return *found;
  element_list_.push_back(markup);
  return *elements_.insert(markup, static_cast<int>(element_list_.size()) - 1);
}

void FrameStore::addMerged(const Shape& dark, const Shape& light, std::vector<int>& into) {
  if (hasSameGeometry(dark, light))
    return into.push_back(elementIndex(elementMarkup(dark, className(dark.style, light.style))));
  into.push_back(elementIndex(elementMarkup(dark, className(dark.style, dark.style) + " in-dark")));
  into.push_back(
      elementIndex(elementMarkup(light, className(light.style, light.style) + " in-light")));
}

int FrameStore::add(const std::vector<Shape>& dark, const std::vector<Shape>& light,
                    const QSizeF& size) {
  std::vector<int> indices;
  if (dark.size() == light.size()) {
    for (std::size_t i = 0; i < dark.size(); ++i) addMerged(dark[i], light[i], indices);
  } else {
    for (const auto& [shapes, theme] : {std::pair(&dark, " in-dark"), {&light, " in-light"}})
      for (const Shape& shape : *shapes)
        indices.push_back(
            elementIndex(elementMarkup(shape, className(shape.style, shape.style) + theme)));
  }
  Frame frame{size, rangesText(indices)};
  const QByteArray key =
      frame.elements + " " + svgNumber(size.width()) + " " + svgNumber(size.height());
  const auto found = known_frames_.constFind(key);
  if (found != known_frames_.constEnd()) return *found;
  frames_.push_back(std::move(frame));
  return *known_frames_.insert(key, count() - 1);
}

nlohmann::json FrameStore::toJson() const {
  nlohmann::json elements = nlohmann::json::array(), frames = nlohmann::json::array();
  for (const QByteArray& markup : element_list_) elements.push_back(markup.toStdString());
  for (const Frame& frame : frames_)
    frames.push_back({{"size", {std::ceil(frame.size.width()), std::ceil(frame.size.height())}},
                      {"elements", frame.elements.toStdString()}});
  return {{"elements", std::move(elements)}, {"frames", std::move(frames)}};
}

QByteArray FrameStore::styleSheet() const {
  QByteArray css;
  for (std::size_t i = 0; i < style_list_.size(); ++i) {
    const auto& [dark, light] = style_list_[i];
    const QByteArray name = ".s" + QByteArray::number(static_cast<int>(i));
    if (dark == light)
      css += name + "{" + dark + "}\n";
    else
      css += ".dark " + name + "{" + dark + "}.light " + name + "{" + light + "}\n";
  }
  return css;
}

}  // namespace ringscope::viz
