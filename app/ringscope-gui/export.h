// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QCommandLineParser>
#include <optional>

namespace ringscope::app {

/// A page or a report to write, as the command line asks for it.
struct ExportRequest {
  QString trace, page, report;  ///< one of `page` and `report` is the file to write
  QStringList views;
  QString from, until;
  bool json = false;
};

/// Returns the options of --export-html and --export-report.
QList<QCommandLineOption> exportOptions();

/// Returns the request of the command line; nothing: there is none. Throws usageError for options
/// that cannot be combined.
std::optional<ExportRequest> parseExport(const QCommandLineParser& parser);

/// Writes the page or the report and says how much was written. Needs no display. Returns the exit
/// code.
int exportFile(const ExportRequest& request);

}  // namespace ringscope::app
