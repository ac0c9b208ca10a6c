// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/timeline/account_painter.h"

#include <algorithm>
#include <cmath>

#include "viz/scene/units.h"
#include "viz/style/shade_style.h"
#include "viz/views/timeline/layer_bars.h"
#include "viz/views/timeline/panel_writer.h"

namespace ringscope::viz {
namespace {

constexpr double kAccountSide = 20, kAccountName = 58, kNumber = 70;

QBrush brushOf(TimeUse use, const Theme& theme) {
  switch (use) {
    case TimeUse::kAttention:
      return shadeColor(Shade::kAttend, theme);
    case TimeUse::kCompute:
      return shadeColor(Shade::kCompute, theme);
    case TimeUse::kExposed:
      return {theme.wait, Qt::BDiagPattern};
    case TimeUse::kSync:
      return shadeColor(Shade::kSync, theme);
    case TimeUse::kVerify:
      return shadeColor(Shade::kVerify, theme);
    default:
      return theme.raised;
  }
}

QString share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? QString::fromStdString(traces::describeShare(static_cast<double>(part) /
                                                                  static_cast<double>(whole)))
                   : QString("–");
}

QString rate(const Exposure& of) {
  if (of.bytes == 0 || of.underWayNs() == 0) return "–";
  return QString::fromStdString(traces::describeSignificant(
             static_cast<double>(of.bytes) / static_cast<double>(of.underWayNs()), 2)) +
         " GB/s";
}

/// Draws from the top down.
class AccountPage : private PanelWriter {
 public:
  AccountPage(QPainter& painter, const QRectF& area, const StepAccount& account, const Theme& theme)
      : PanelWriter(painter, area.adjusted(kAccountSide, 16, -kAccountSide, 0), theme),
        account_(account) {}

  double paint(const SpanDetails* selected) {
    section(QString(account_.model ? "WHERE THE TIME GOES BY THE MODEL, STEP %1"
                                   : "WHERE THE TIME GOES, STEP %1")
                .arg(account_.train_step));
    if (!account_.timed) {
      sentence(account_.sentence, theme_.dim);
      return y_ - area_.top() + 16;
    }
    uses();
    legend();
    for (const AccountSection& each : account_.sections) table(each);
    exposure();
    layers();
    byRank();
    if (!account_.model) cpu();
    if (!account_.caveat.empty()) {
      y_ += 10;
      sentence("◆ " + account_.caveat, theme_.wait);
    }
    if (selected) details(*selected);
    return y_ - area_.top() + 32;
  }

 private:
  /// A bar a rank, as long as its step is of the longest.
  void uses() {
    std::int64_t longest = 1;
    for (const RankAccount& rank : account_.ranks) longest = std::max(longest, rank.step_ns);
    constexpr double kWords = 15, kMost = 20;
    const double pitch = std::clamp(256.0 / static_cast<double>(account_.ranks.size()), 4.0, kMost);
    const bool words = pitch >= kWords;
    const double left = area_.left() + kAccountName, room = area_.width() - kAccountName - kNumber;
    for (const RankAccount& rank : account_.ranks) {
      double x = left;
      for (std::size_t i = 0; i < kTimeUses; ++i) {
        const double width =
            room * static_cast<double>(rank.used_ns[i]) / static_cast<double>(longest);
        const QRectF box(x, y_ + 1, width, pitch - (words ? 5 : 1));
        p_.setBrushOrigin(box.topLeft());
        p_.fillRect(box, brushOf(static_cast<TimeUse>(i), theme_));
        x += width;
      }
      if (words) {
        name(QString("rank %1").arg(rank.rank.value()), theme_.text, pitch - 3);
        number(area_.right(), kNumber, describeDuration(rank.step_ns).c_str(), theme_.text,
               pitch - 3);
      }
      y_ += pitch;
    }
    y_ += 4;
  }

  void legend() {
    const double half = area_.width() / 2;
    int column = 0;
    for (std::size_t i = 0; i < kTimeUses; ++i) {
      const auto use = static_cast<TimeUse>(i);
      const double x = area_.left() + column * half;
      const QRectF box(x, y_ + 3, 11, 11);
      p_.fillRect(box, brushOf(use, theme_));
      p_.setPen(QPen(use == TimeUse::kExposed ? theme_.wait : theme_.line, 1));
      p_.setBrush(Qt::NoBrush);
      if (use == TimeUse::kExposed || use == TimeUse::kBetween) p_.drawRect(box);
      p_.setFont(textFont(11));
      p_.setPen(theme_.dim);
      say(QRectF(x + 18, y_, half - 46, 17), Qt::AlignVCenter, title(use));
      p_.setFont(monoFont(11));
      p_.setPen(theme_.text);
      say(QRectF(x, y_, half - 12, 17), Qt::AlignVCenter | Qt::AlignRight,
          share(account_.used(use), account_.stepNs()));
      if (++column == 2 || i + 1 == kTimeUses) {
        column = 0;
        y_ += 18;
      }
    }
    y_ += 14;
  }

  void columns(const QString& first) {
    p_.setFont(textFont(11));
    p_.setPen(theme_.dim);
    const double w = (area_.width() - 56) / 4;
    const char* names[] = {"GB/s", "bytes", "hidden", "exposed"};
    double right = area_.right();
    for (const char* words : names) {
      say(QRectF(right - w, y_, w, 16), Qt::AlignVCenter | Qt::AlignRight, words);
      right -= w;
    }
    say(QRectF(area_.left(), y_, w, 16), Qt::AlignVCenter, first);
    y_ += 18;
  }
  void exposureRow(const QString& first, const Exposure& of) {
    const double w = (area_.width() - 56) / 4;
    double right = area_.right();
    QString speed = rate(of);
    const QString cells[] = {speed.remove(" GB/s"), describeBytes(of.bytes).c_str(),
                             describeDuration(of.hidden_ns).c_str(),
                             describeDuration(of.exposed_ns).c_str()};
    for (std::size_t i = 0; i < std::size(cells); ++i) {
      number(right, w, cells[i], i == 3 && of.exposed_ns > 0 ? theme_.wait : theme_.text, 16);
      right -= w;
    }
    p_.setFont(textFont(11));
    p_.setPen(theme_.text);
    say(QRectF(area_.left(), y_, 60, 16), Qt::AlignVCenter, first);
    y_ += 17;
  }

  void line(const QString& what, const QString& value) {
    name(what, theme_.dim, 16);
    number(area_.right(), area_.width(), value, theme_.text, 16);
    y_ += 17;
  }

  void exposure() {
    section("COMMUNICATION, ALL RANKS");
    columns("");
    Exposure forward, backward, outside;
    for (const LayerAccount& layer : account_.layers)
      (layer.layer.isNone()                             ? outside
       : layer.direction == traces::Direction::kForward ? forward
                                                        : backward) += layer.exposure;
    exposureRow("forward", forward);
    exposureRow("backward", backward);
    exposureRow("outside", outside);
    const Exposure all = account_.exposure();
    exposureRow("all", all);
    if (const auto hidden = all.hiddenShare())
      line("in flight", QString("%1 · %2 of it hidden")
                            .arg(describeDuration(all.underWayNs()).c_str(),
                                 QString::fromStdString(traces::describeShare(*hidden))));
    if (all.late_ns > 0)
      line(account_.model ? "of exposed for late peers" : "of exposed with none in flight",
           describeDuration(all.late_ns).c_str());
    y_ += 12;
  }

  void layers() {
    const std::int64_t most = mostExposed(account_);
    if (most < 0) return;
    section(QString("EXPOSED BY LAYER, AT MOST %1").arg(describeDuration(most).c_str()));
    paintLayerBars(p_, QRectF(area_.left(), y_, area_.width(), kLayerBars), account_, theme_);
    y_ += kLayerBars + 8;
  }

  /// Draws the ranks, or those with the most exposed time when there are too many.
  std::vector<const RankAccount*> chosenRanks() const {
    constexpr std::size_t kMost = 8;
    std::vector<const RankAccount*> ranks;
    for (const RankAccount& rank : account_.ranks) ranks.push_back(&rank);
    if (ranks.size() <= kMost) return ranks;
    std::ranges::stable_sort(ranks, std::greater(),
                             [](const RankAccount* rank) { return rank->exposure.exposed_ns; });
    ranks.resize(kMost);
    return ranks;
  }

  void byRank() {
    const auto ranks = chosenRanks();
    section(ranks.size() < account_.ranks.size()
                ? QString("BY RANK, THE %1 MOST EXPOSED").arg(ranks.size())
                : QString("BY RANK"));
    columns("");
    for (const RankAccount* rank : ranks)
      exposureRow(QString("rank %1").arg(rank->rank.value()), rank->exposure);
    y_ += 12;
  }

  void cpu() {
    section("THREAD CPU AGAINST WALL TIME");
    if (std::ranges::none_of(account_.ranks, [](const RankAccount& r) { return r.cpu_ns > 0; }))
      return sentence("None was recorded, or a device worked.", theme_.dim);
    for (const RankAccount* rank : chosenRanks()) {
      name(QString("rank %1").arg(rank->rank.value()), theme_.text, 16);
      const double room = area_.width() - kAccountName - 146;
      const QRectF box(area_.left() + kAccountName, y_ + 4, room, 8);
      const double part = rank->wall_ns > 0 ? std::min(1.0, static_cast<double>(rank->cpu_ns) /
                                                                static_cast<double>(rank->wall_ns))
                                            : 0;
      p_.fillRect(box, theme_.raised);
      p_.fillRect(QRectF(box.left(), box.top(), room * part, box.height()), theme_.accent);
      number(
          area_.right(), 140,
          QString("%1 of %2")
              .arg(describeDuration(rank->cpu_ns).c_str(), describeDuration(rank->wall_ns).c_str()),
          theme_.text, 16);
      y_ += 17;
    }
    y_ += 8;
  }

  const StepAccount& account_;
};

}  // namespace

double paintAccount(QPainter& painter, const QRectF& area, const StepAccount& account,
                    const SpanDetails* selected, const Theme& theme) {
  painter.save();
  const double height = AccountPage(painter, area, account, theme).paint(selected);
  painter.restore();
  return height;
}

}  // namespace ringscope::viz
