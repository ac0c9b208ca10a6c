// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QContextMenuEvent>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QToolTip>
#include <memory>

#include "viz/views/base/merge_menu.h"
#include "viz/views/base/view.h"

namespace ringscope::viz {

/// The parts of a view without controls and without a state. The last five may be null.
template <typename Scene>
struct SceneParts {
  const char* accessible_name;
  std::shared_ptr<const Scene> (*make)(const Session& session, const Cursor& cursor);
  void (*paint)(QPainter& painter, const QRectF& area, const Scene& scene, double phase,
                const Theme& theme);
  std::string (*describe)(const Scene& scene) = nullptr;
  /// Returns the tooltip of a point; may be empty.
  std::string (*tip)(const QPointF& point, const QRectF& area, const Scene& scene) = nullptr;
  /// Returns false for a key that means nothing here.
  bool (*key)(Viewing& viewing, const QKeyEvent& event) = nullptr;
  /// The height that everything needs at this width.
  double (*height)(double width, const Scene& scene) = nullptr;
  /// Returns the token at a point, whose merge a double click shows; none when there is none.
  TokenIndex (*token)(const QPointF& point, const QRectF& area, const Scene& scene) = nullptr;
};

template <typename Scene>
class SceneView : public View {
 public:
  SceneView(Viewing& viewing, QWidget* parent, const SceneParts<Scene>& parts)
      : View(viewing, parts.accessible_name, parent), parts_(parts) {}

 protected:
  void refresh() override {
    scene_.reset();
    scene_ = parts_.make(viewing_.session, cursor());
    if (parts_.describe) describe(parts_.describe(*scene_));
    update();
  }
  void paint(QPainter& painter, const QRectF& page, const QRegion&) override {
    if (scene_) parts_.paint(painter, page, *scene_, cursor().phase, *theme_);
  }
  double neededHeight(double width) const override {
    return parts_.height && scene_ ? parts_.height(width, *scene_) : 0;
  }
  bool event(QEvent* event) override {
    if (event->type() != QEvent::ToolTip || !parts_.tip || !scene_) return View::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    QToolTip::showText(help->globalPos(),
                       QString::fromStdString(parts_.tip(onPage(help->pos()), page(), *scene_)),
                       this);
    return true;
  }
  void mouseDoubleClickEvent(QMouseEvent* event) override {
    const TokenIndex token = tokenAt(event->position());
    if (token.exists()) showMerge(viewing_, token);
  }
  void contextMenuEvent(QContextMenuEvent* event) override {
    openMergeMenu(*this, viewing_, tokenAt(event->pos()), event->globalPos());
  }
  void keyPressEvent(QKeyEvent* event) override {
    if (!parts_.key || !parts_.key(viewing_, *event)) View::keyPressEvent(event);
  }

 private:
  TokenIndex tokenAt(const QPointF& point) const {
    return parts_.token && scene_ ? parts_.token(onPage(point), page(), *scene_)
                                  : TokenIndex::none();
  }

  SceneParts<Scene> parts_;
  std::shared_ptr<const Scene> scene_;
};

}  // namespace ringscope::viz
