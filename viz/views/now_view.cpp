// SPDX-License-Identifier: GPL-3.0-or-later
#include <QKeyEvent>
#include <cmath>

#include "viz/style/face.h"
#include "viz/views/view.h"

namespace ringscope::viz {
namespace {

/// What happens in the viewed ring step, in sentences with the recorded numbers: the selected rank
/// in large type, the others beneath. Space goes on to the next.
class NowView : public View {
 public:
  NowView(Hub& hub, QWidget* parent) : View(hub, parent) {
    setAccessibleName("Now: what happens in this ring step, in words");
    setMinimumSize(320, 240);
    connect(&hub, &Hub::cursorChanged, this,
            [this] { setAccessibleDescription(QString::fromStdString(hub_.scene().sentence)); });
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter p;
    begin(p);
    p.fillRect(page(), theme_->background);
    if (hub_.empty()) return note(p, page(), "No ring step is recorded yet.");
    const RingScene& scene = hub_.scene();
    const double left = 48, room = pageWidth() - 2 * left;
    p.setFont(textFont(15));
    p.setPen(theme_->dim);
    p.drawText(QRectF(left, 28, room, 24), Qt::AlignVCenter,
               QString("step %1 · layer %2 · %3 · ring step %4 of %5")
                   .arg(scene.place.train_step)
                   .arg(scene.place.layer)
                   .arg(traces::name(scene.place.direction))
                   .arg(scene.place.stage)
                   .arg(scene.ring_steps));
    p.setFont(textFont(pageHeight() < 420 ? 22 : 28, QFont::DemiBold));
    p.setPen(theme_->text);
    QRectF used;
    QString sentence = QString::fromStdString(scene.sentence);
    if (!sentence.isEmpty()) sentence[0] = sentence[0].toUpper();
    p.drawText(QRectF(left, 64, room, pageHeight() * 0.4), Qt::TextWordWrap, sentence, &used);
    drawRanks(p, used.bottom() + 24, left, room);
    p.setFont(textFont(12));
    p.setPen(theme_->dim);
    p.drawText(QRectF(left, pageHeight() - 34, room, 20), Qt::AlignVCenter,
               "Space: the next ring step · ←: the one before · 1–8: about another rank");
  }

  void keyPressEvent(QKeyEvent* event) override {
    if (event->key() != Qt::Key_Space) return View::keyPressEvent(event);
    hub_.setPlaying(false);
    hub_.move(1);
  }

 private:
  void drawRanks(QPainter& p, double top, double left, double room) const {
    const auto& ranks = hub_.scene().ranks;
    const double pitch =
        std::clamp((pageHeight() - 44 - top) / static_cast<double>(ranks.size()), 18.0, 48.0);
    const int size = pitch > 34 ? 15 : pitch > 24 ? 13 : 11;
    double y = top;
    for (const RankScene& rank : ranks) {
      if (y + pitch > pageHeight() - 36) return;
      if (rank.rank == hub_.selectedRank()) {
        p.setPen(Qt::NoPen);
        p.setBrush(theme_->raised);
        p.drawRoundedRect(QRectF(left - 12, y, room + 24, pitch - 4), 6, 6);
      }
      p.setFont(textFont(size, QFont::DemiBold));
      p.setPen(theme_->text);
      p.drawText(QRectF(left, y, 80, pitch - 4), Qt::AlignVCenter,
                 QString("rank %1").arg(rank.rank));
      if (rank.held_source >= 0)
        paintFace(p, QRectF(left + 80, y + 3, 78, std::min(28.0, pitch - 10)), rank.held_source,
                  QString("KV %1").arg(rank.held_source), *theme_);
      p.setFont(textFont(size));
      p.setPen(rank.queries ? theme_->text : theme_->dim);
      p.drawText(QRectF(left + 176, y, room * 0.46, pitch - 4), Qt::AlignVCenter,
                 QString::fromStdString(rank.attending));
      drawNumbers(p, QRectF(left + room * 0.5, y, room * 0.5, pitch - 4), rank, size);
      y += pitch;
    }
  }

  void drawNumbers(QPainter& p, const QRectF& box, const RankScene& rank, int size) const {
    QString words = describeDuration(rank.attend_ns).c_str();
    if (std::isfinite(rank.lse_after))
      words = QString("lse %1 · ").arg(rank.lse_after, 0, 'f', 2) + words;
    const bool waits = rank.wait_ns > rank.attend_ns / 4 && rank.waits_for >= 0;
    if (waits)
      words += QString(" · waits %1 for rank %2")
                   .arg(describeDuration(rank.wait_ns).c_str())
                   .arg(rank.waits_for);
    p.setFont(monoFont(size));
    p.setPen(waits ? theme_->wait : theme_->dim);
    p.drawText(box, Qt::AlignVCenter | Qt::AlignRight, words);
  }
};

}  // namespace

View* makeNowView(Hub& hub, QWidget* parent) {
  return new NowView(hub, parent);
}

}  // namespace ringscope::viz
