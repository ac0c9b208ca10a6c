// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/models/findings_model.h"

#include <algorithm>
#include <map>

#include "traces/mistakes/catalogue.h"

namespace ringscope::viz {
namespace {

/// The view in which a rule's evidence is plain to see.
QString viewOf(const std::string& rule) {
  static const std::map<std::string, QString> kViews = {{"missing_position_ids", "positions"},
                                                        {"naive_sum_merge", "merge"},
                                                        {"missing_cp_grad_reduce", "diff"},
                                                        {"dropped_hop", "ring"},
                                                        {"nan_from_one_rank", "tensor"}};
  const auto found = kViews.find(rule);
  return found == kViews.end() ? "ring" : found->second;
}

QString titleOf(const std::string& rule) {
  const auto* mistake = traces::findMistake(rule);
  return QString::fromStdString(mistake ? mistake->title : rule);
}

int order(traces::Verdict verdict) {
  return verdict == traces::Verdict::kFound           ? 0
         : verdict == traces::Verdict::kNotObservable ? 1
                                                      : 2;
}

}  // namespace

void FindingsModel::show(const traces::Diagnosis& diagnosis) {
  std::vector<Row> rows;
  for (const auto& entry : diagnosis.entries) {
    const auto& result = entry.result;
    for (const traces::Finding& f : result.findings)
      rows.push_back({traces::Verdict::kFound, QString::fromStdString(f.title),
                      QString::fromStdString(f.evidence), QString::fromStdString(f.remedy), f,
                      viewOf(entry.rule)});
    if (result.verdict == traces::Verdict::kNotObservable)
      rows.push_back(
          {result.verdict,
           titleOf(entry.rule),
           "Not recorded; " + QString::fromStdString(result.would_settle) + " would settle it.",
           "",
           {},
           ""});
    if (result.verdict == traces::Verdict::kClear)
      rows.push_back(
          {result.verdict, titleOf(entry.rule), "Looked for and not found.", "", {}, ""});
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return order(a.verdict) < order(b.verdict); });
  beginResetModel();
  rows_ = std::move(rows);
  endResetModel();
}

const FindingsModel::Row* FindingsModel::at(int row) const {
  return row >= 0 && row < rowCount() ? &rows_[static_cast<std::size_t>(row)] : nullptr;
}

int FindingsModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

QVariant FindingsModel::data(const QModelIndex& index, int role) const {
  const Row* row = index.isValid() ? at(index.row()) : nullptr;
  if (!row) return {};
  if (role == Qt::DisplayRole) return row->title;
  if (role == Qt::AccessibleTextRole)
    return QString("%1: %2. %3 %4")
        .arg(traces::name(row->verdict), row->title, row->evidence, row->remedy);
  return {};
}

}  // namespace ringscope::viz
