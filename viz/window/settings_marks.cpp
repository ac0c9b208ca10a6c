// SPDX-License-Identifier: GPL-3.0-or-later
// Which settings of the form the others rule out, and which differ from the run on show.
#include <QStandardItemModel>
#include <QStyle>
#include <algorithm>

#include "traces/format/core/error.h"
#include "traces/plan/run_rules.h"
#include "viz/window/settings_form.h"

namespace ringscope::viz {
namespace {

constexpr const char* kDiffers = "differs";          // read by the style sheet
constexpr const char* kExplanation = "explanation";  // the tooltip without a mark

}  // namespace

/// Greys the choices that the rest of the form rules out, with the sentence that says why. If
/// all choices of a box would be refused, the reason lies elsewhere.
void SettingsForm::offerAllowed() {
  const RunConfig now = config();
  const auto offer = [&](QComboBox* box, auto set) {
    QStringList reasons;
    for (int i = 0; i < box->count(); ++i) {
      RunConfig other = now;
      set(other, box->itemText(i).toStdString());
      reasons << refusal(other, shape_.heads);
    }
    const bool elsewhere =
        std::ranges::none_of(reasons, [](const QString& reason) { return reason.isEmpty(); });
    auto* items = qobject_cast<QStandardItemModel*>(box->model());
    for (int i = 0; i < box->count(); ++i) {
      items->item(i)->setEnabled(elsewhere || reasons[i].isEmpty());
      items->item(i)->setToolTip(elsewhere ? QString() : reasons[i]);
    }
  };
  offer(balance_, [](RunConfig& run, const std::string& text) {
    run.balance = traces::parse<traces::Balance>(text);
  });
  offer(kernel_, [](RunConfig& run, const std::string& text) {
    run.kernel = traces::parse<traces::Kernel>(text);
  });
  offer(p2p_, [](RunConfig& run, const std::string& text) {
    run.p2p = traces::parse<traces::PointToPoint>(text);
  });
}

/// `shown_value` is empty when the setting does not differ.
void SettingsForm::mark(QWidget* box, const QString& shown_value) {
  if (!box->property(kExplanation).isValid()) box->setProperty(kExplanation, box->toolTip());
  const QString sentence =
      shown_value.isEmpty() ? QString() : "The run on show has " + shown_value + ".";
  QString tip = box->property(kExplanation).toString();
  if (!sentence.isEmpty()) tip = tip.isEmpty() ? sentence : tip + "\n" + sentence;
  box->setToolTip(Qt::mightBeRichText(tip) ? Qt::convertFromPlainText(tip) : tip);
  box->setAccessibleDescription(sentence);
  if (box->property(kDiffers).toBool() == !sentence.isEmpty()) return;
  box->setProperty(kDiffers, !sentence.isEmpty());
  box->style()->unpolish(box);
  box->style()->polish(box);
}

/// A dot beside the name of each row with a marked setting: a border alone is easy to overlook.
void SettingsForm::markRows() {
  for (const Row& row : rows_) {
    const bool differs = std::ranges::any_of(
        row.boxes, [](const QWidget* box) { return box->property(kDiffers).toBool(); });
    row.mark->setVisible(differs);
  }
}

/// Returns an empty string when the texts are the same, or the recording does not name its text.
QString SettingsForm::describeShownText(const traces::RunSpec& shown) const {
  if (shown.text.empty() && shown.tokens.empty()) return {};
  const RunConfig now = config();
  std::vector<std::string> text = now.text;
  try {
    text = now.spec().text;
  } catch (const Error&) {  // there is no sample text, which is then not the same
  }
  if (text == shown.text && now.tokens == shown.tokens) return {};
  QStringList files;
  for (const std::string& file : shown.text) files << QString::fromStdString(file);
  if (!shown.tokens.empty()) files << QString::fromStdString(shown.tokens);
  return files.join(", ");
}

void SettingsForm::markDifferences(const traces::RunSpec* shown) {
  if (!shown) {
    for (const Row& row : rows_)
      for (QWidget* box : row.boxes) mark(box, {});
    return markRows();
  }
  const RunConfig now = config();
  const auto compare_number = [this](QWidget* box, std::int64_t is, std::int64_t was) {
    mark(box, is == was ? QString() : QString::number(was));
  };
  const auto compare_name = [this](QWidget* box, auto is, auto was) {
    mark(box, is == was ? QString() : name(was));
  };
  const auto& model = shown->model;
  mark(model_, now.model_dir == shown->model_dir
                   ? QString()
                   : QString("%1, %2 layers").arg(model.name.c_str()).arg(model.layers));
  mark(text_button_, describeShownText(*shown));
  compare_number(dp_, now.dp, shown->dp);
  compare_number(tp_, now.tp, shown->tp);
  compare_number(cp_, now.cp, shown->cp);
  compare_number(steps_, now.steps, shown->steps);
  compare_number(seq_len_, now.seq_len, shown->seq_len);
  compare_name(strategy_, now.strategy, shown->strategy);
  compare_name(balance_, traces::chosenBalance(now), traces::chosenBalance(*shown));
  compare_name(mask_, now.mask, shown->mask);
  const bool windows = now.mask == shown->mask && now.mask == traces::MaskKind::kWindow;
  compare_number(window_, windows ? now.window : 0, windows ? shown->window : 0);
  compare_name(dtype_, now.dtype, shown->dtype);
  mark(sinks_, now.sinks == shown->sinks ? "" : shown->sinks ? "sinks" : "no sinks");
  compare_name(kernel_, now.kernel, shown->kernel);
  compare_name(p2p_, now.p2p, shown->p2p);
  compare_name(launch_, now.launch, shown->launch);
  markRows();
}

}  // namespace ringscope::viz
