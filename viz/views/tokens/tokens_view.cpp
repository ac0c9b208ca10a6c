// SPDX-License-Identifier: GPL-3.0-or-later
#include <QContextMenuEvent>
#include <QFileInfo>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QToolTip>

#include "traces/analysis/verify/recompute/step_tensors.h"
#include "viz/kit/choice.h"
#include "viz/kit/page.h"
#include "viz/kit/plain_key.h"
#include "viz/scene/groups.h"
#include "viz/session/background.h"
#include "viz/views/base/merge_menu.h"
#include "viz/views/base/view.h"
#include "viz/views/tokens/tokens_painter.h"

namespace ringscope::viz {
namespace {

constexpr int kNothing = 0, kRecording = 1, kFirstGroup = 2;  // entries of the choice

/// The losses of one sequence, token by token. ↑ ↓ go to another sequence of the batch. A click
/// selects a token, and a double click shows its merge.
class TokensView : public View {
 public:
  TokensView(Viewing& viewing, QWidget* parent)
      : View(viewing, "Tokens: loss and log probability of each token of a sequence", parent) {
    other_->setAccessibleName("Compare losses with");
    other_->setToolTip(
        "What the losses are compared with: the second recording of Compare, or "
        "another group of ranks");
    connect(other_, &Choice::activated, this, [this] { renew(); });
    connect(&viewing.comparison, &Comparison::changed, this, [this] {
      if (isVisible()) renew();
    });
    connect(&work_, &Background::failed, this, [this](const QString&, const QString& problem) {
      scene_ = {};
      scene_.note = problem.toStdString();
      showScene();
    });
  }
  bool isMaking() const override { return work_.busy(); }

 protected:
  Cursor watched(Cursor cursor) const override {
    Cursor seen;
    seen.group = cursor.group;
    seen.place.train_step = cursor.place.train_step;
    seen.token = cursor.token;
    return seen;
  }
  void startOver() override { sequence_ = 0; }
  void refresh() override {
    listOthers();
    const Asked asked = ask();
    if (made_for_ == asked) return remake();
    made_for_ = asked;
    loading_ = true;
    work_.request(
        "losses",
        [asked, trace = viewing_.session.shareTrace(), file = viewing_.comparison.otherFile()](
            const std::stop_token&) { return load(asked, *trace, file); },
        [this](const Loaded& loaded) {
          loading_ = false;
          loaded_ = loaded;
          remake();
        });
    update();
  }
  void paint(QPainter& painter, const QRectF& page, const QRegion&) override {
    if (loading_ && scene_.points.empty()) {
      painter.fillRect(page, theme_->background);
      return paintNote(painter, page, "The losses of the tokens are computed …", *theme_);
    }
    paintTokens(painter, page, scene_, columns_, *theme_);
  }
  void arrange() override {
    constexpr double kWidth = 220, kHeight = 27;
    const QRectF box(page().right() - kWidth - 24, 10, kWidth, kHeight);
    other_->setGeometry(QRectF(box.topLeft() * zoom_, box.size() * zoom_).toRect());
    columns_ = gatherColumns(scene_, tokenColumns(page()));
  }
  void mousePressEvent(QMouseEvent* event) override {
    const TokenIndex token = tokenAt(event->position());
    if (token.exists()) selectToken(viewing_, token);
  }
  void mouseDoubleClickEvent(QMouseEvent* event) override {
    const TokenIndex token = tokenAt(event->position());
    if (token.exists()) showMerge(viewing_, token);
  }
  void contextMenuEvent(QContextMenuEvent* event) override {
    openMergeMenu(*this, viewing_, tokenAt(event->pos()), event->globalPos());
  }
  void keyPressEvent(QKeyEvent* event) override {
    const int key = plainKey(*event);
    if (key != Qt::Key_Up && key != Qt::Key_Down) return View::keyPressEvent(event);
    sequence_ = scene_.sequence + (key == Qt::Key_Down ? 1 : -1);
    remake();
  }
  bool event(QEvent* event) override {
    if (event->type() != QEvent::ToolTip) return View::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const auto hit = tokensHit(onPage(help->pos()), page(), columns_);
    QToolTip::showText(help->globalPos(),
                       hit ? text(describePoint(scene_, scene_.points[*hit])) : QString(), this);
    return true;
  }

 private:
  /// The subject of a request for losses.
  struct Asked {
    DataStamp data;
    int group = 0, other_group = -1;  ///< -1: no other group
    std::int32_t train_step = 0;
    QString other_path;

    friend bool operator==(const Asked&, const Asked&) = default;
  };
  struct Loaded {
    traces::TokenLosses own;
    OtherLosses other;
  };

  /// Runs on a thread.
  static Loaded load(const Asked& asked, const traces::Trace& trace,
                     const std::shared_ptr<RecordedFile>& file) {
    Loaded loaded;
    loaded.own = traces::tokenLosses(trace, asked.train_step, groupRanks(trace, asked.group));
    if (asked.other_group >= 0) {
      const Group group = listGroups(trace).at(static_cast<std::size_t>(asked.other_group));
      loaded.other = {group.name, traces::tokenLosses(trace, asked.train_step, group.ranks), false};
    } else if (!asked.other_path.isEmpty() && file) {
      const auto other = file->trace();
      loaded.other = {QFileInfo(asked.other_path).fileName().toStdString(),
                      traces::tokenLosses(*other, asked.train_step, traces::tokenOwners(*other)),
                      true};
    }
    return loaded;
  }

  Asked ask() const {
    Asked asked{viewing_.session.data(), cursor().group, -1, cursor().place.train_step, {}};
    const int chosen = other_->currentIndex();
    if (chosen >= kFirstGroup) asked.other_group = other_->currentData().toInt();
    if (chosen == kRecording) asked.other_path = viewing_.comparison.other();
    return asked;
  }
  /// Lists what there is to compare with, and keeps the choice. A second recording is chosen by
  /// itself when it appears.
  void listOthers() {
    const QString path = viewing_.comparison.other();
    const auto groups = listGroups(viewing_.session.trace());
    const bool is_new = path != listed_path_;
    const QString kept = other_->currentText();
    listed_path_ = path;
    other_->clear();
    other_->addItem("compare with nothing");
    other_->addItem(path.isEmpty() ? QString("no second recording")
                                   : "with " + QFileInfo(path).fileName());
    for (int group = 0; group < static_cast<int>(groups.size()); ++group)
      if (group != cursor().group)
        other_->addItem("with " + text(groups[static_cast<std::size_t>(group)].name), group);
    other_->setCurrentIndex(std::max(kNothing, other_->findText(kept)));
    if (is_new) other_->setCurrentIndex(path.isEmpty() ? kNothing : kRecording);
  }
  void remake() {
    scene_ =
        makeTokensScene(viewing_.session.trace(), cursor(), sequence_, loaded_.own, loaded_.other);
    sequence_ = scene_.sequence;
    showScene();
  }
  void showScene() {
    columns_ = gatherColumns(scene_, tokenColumns(page()));
    View::describe(viz::describe(scene_));
    update();
  }
  TokenIndex tokenAt(const QPointF& position) const {
    const auto hit = tokensHit(onPage(position), page(), columns_);
    return hit ? scene_.points[*hit].token : TokenIndex::none();
  }

  Choice* other_ = new Choice(this);
  Background work_;
  std::optional<Asked> made_for_;
  QString listed_path_;
  Loaded loaded_;
  bool loading_ = false;
  std::int64_t sequence_ = 0;
  TokensScene scene_;
  std::vector<TokenColumn> columns_;
};

}  // namespace

View* makeTokensView(Viewing& viewing, QWidget* parent) {
  return new TokensView(viewing, parent);
}

}  // namespace ringscope::viz
