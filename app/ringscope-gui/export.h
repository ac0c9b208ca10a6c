// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QCommandLineParser>
#include <optional>

namespace ringscope::app {

/// A page, a report or a picture to write, as the command line asks for it.
struct ExportRequest {
  QString option;  ///< "export-html", "export-report" or "export-picture"
  QString output, trace;
  QStringList views;
  QString from, until, theme;
  bool json = false;
};

/// Returns the options of exports.
QList<QCommandLineOption> exportOptions();

/// Returns the request of the command line; nothing: there is none. Throws usageError for options
/// that cannot be combined.
std::optional<ExportRequest> parseExport(const QCommandLineParser& parser);

/// Writes the file and says how much was written. Needs no display. Returns the exit
/// code.
int exportFile(const ExportRequest& request);

}  // namespace ringscope::app
