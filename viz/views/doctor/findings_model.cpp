// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/doctor/findings_model.h"

namespace ringscope::viz {

void FindingsModel::show(std::vector<FindingCard> cards) {
  beginResetModel();
  cards_ = std::move(cards);
  endResetModel();
}

const FindingCard* FindingsModel::at(int row) const {
  return row >= 0 && row < rowCount() ? &cards_[static_cast<std::size_t>(row)] : nullptr;
}

int FindingsModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(cards_.size());
}

QVariant FindingsModel::data(const QModelIndex& index, int role) const {
  const FindingCard* card = index.isValid() ? at(index.row()) : nullptr;
  if (!card) return {};
  if (role == Qt::DisplayRole) return QString::fromStdString(card->title);
  if (role == Qt::AccessibleTextRole)
    return QString::fromStdString(std::string(card->advice     ? "to add"
                                              : !card->applies ? "does not apply"
                                                               : traces::name(card->verdict)) +
                                  ": " + card->title + ". " + card->evidence + " " + card->remedy);
  return {};
}

}  // namespace ringscope::viz
