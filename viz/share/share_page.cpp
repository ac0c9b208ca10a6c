// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/share/share_page.h"

#include <QCryptographicHash>
#include <QFile>
#include <algorithm>

#include "traces/analysis/report/finding_place.h"
#include "traces/analysis/report/html.h"
#include "traces/analysis/report/summary.h"
#include "traces/format/core/output_file.h"
#include "traces/format/core/prose.h"

/// Links the parts of pages into the program. The macro must stand outside of a namespace.
static void linkPageParts() {
  Q_INIT_RESOURCE(share);
}

namespace ringscope::viz {
namespace {

using traces::escapeHtml;

QByteArray readResource(const char* name) {
  linkPageParts();
  QFile file(QString(":/share/%1").arg(name));
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

/// Returns the colours of a theme as variables of the page's style sheet.
QByteArray themeVariables(const Theme& theme) {
  const std::pair<const char*, QColor> colors[] = {{"background", theme.background},
                                                   {"panel", theme.panel},
                                                   {"raised", theme.raised},
                                                   {"line", theme.line},
                                                   {"text", theme.text},
                                                   {"dim", theme.dim},
                                                   {"accent", theme.accent},
                                                   {"on-accent", theme.on_accent},
                                                   {"right", theme.right},
                                                   {"wait", theme.wait},
                                                   {"wrong", theme.wrong}};
  QByteArray css = "." + theme.name.toLatin1() + "{";
  for (const auto& [name, color] : colors)
    css += "--" + QByteArray(name) + ":" + color.name().toLatin1() + ";";
  return css + "color-scheme:" + (theme.is_dark ? "dark" : "light") + "}\n";
}

/// Returns a policy that lets the page's own script run and nothing be loaded.
QByteArray contentPolicy(const QByteArray& script) {
  return "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-" +
         QCryptographicHash::hash(script, QCryptographicHash::Sha256).toBase64() +
         "'; base-uri 'none'; form-action 'none'";
}

nlohmann::json stepsJson(const Session& session, std::pair<int, int> range) {
  nlohmann::json steps = nlohmann::json::array();
  const auto& moments = session.trace().moments();
  for (int i = range.first; i <= range.second && i < static_cast<int>(moments.size()); ++i) {
    const Place& place = moments[static_cast<std::size_t>(i)];
    steps.push_back(
        {{"title", traces::describe(place)}, {"position", traces::positionText(place)}});
  }
  return steps;
}

std::string pageText(const traces::Report& report, const FrameStore& store,
                     const nlohmann::json& data, const std::vector<std::string>& notes) {
  const QByteArray script = readResource("player.js");
  const QByteArray style = readResource("page.css") + themeVariables(Theme::named("dark")) +
                           themeVariables(Theme::named("light")) + store.styleSheet();
  std::string body = readResource("page.html").toStdString();
  std::string left_out;
  for (const std::string& note : notes)
    left_out += "<p class=\"note\">" + escapeHtml(note) + ".</p>";
  const std::pair<const char*, std::string> parts[] = {
      {"POLICY", contentPolicy(script).toStdString()},
      {"TITLE", escapeHtml(data["name"])},
      {"STYLE", style.toStdString()},
      {"SUMMARY", traces::summaryHtml(report)},
      {"NOTES", left_out},
      {"FINDINGS", traces::findingsHtml(report)},
      {"CHECKS", traces::checksHtml(report)},
      {"DEFINITIONS", store.definitionMarkup().toStdString()},
      {"DATA", traces::toScriptJson(data)},
      {"SCRIPT", script.toStdString()}};
  // From left to right, so that nothing within a part is taken for a mark.
  std::string page;
  std::size_t from = 0;
  for (std::size_t mark; (mark = body.find("{{", from)) != std::string::npos;) {
    const std::size_t end = body.find("}}", mark);
    const std::string name = body.substr(mark + 2, end - mark - 2);
    page += body.substr(from, mark - from);
    for (const auto& [part, text] : parts)
      if (name == part) page += text;
    from = end + 2;
  }
  return page + body.substr(from);
}

}  // namespace

traces::Report makeReport(const Session& session, const std::string& recording) {
  const traces::Trace& trace = session.trace();
  return {recording,
          traces::summaryLines(trace, traces::summarize(trace, recording)),
          session.diagnosis().value_or(traces::Diagnosis()),
          {}};
}

SharedPage writeSharedPage(const Session& session, const std::string& recording,
                           const ShareChoice& choice, const std::string& output,
                           const std::function<bool()>& goes_on) {
  const auto entries = sharedEntries(choice.views.isEmpty() ? defaultSharedViews() : choice.views);
  const auto range = sharedMoments(session, choice, kMostSharedSteps);
  traces::checkWritable(output);  // before the long work
  FrameStore store;
  SharedPage page;
  nlohmann::json views = nlohmann::json::array();
  for (const ViewEntry& entry : entries) {
    const SharedView view = drawFrames(session, entry, range, store, goes_on);
    views.push_back({{"name", view.name.toStdString()},
                     {"title", view.title.toStdString()},
                     {"frames", view.frames},
                     {"sentences", view.sentences}});
  }
  const nlohmann::json steps = stepsJson(session, range);
  page.views = static_cast<int>(entries.size());
  page.ring_steps = static_cast<int>(steps.size());
  page.frames = store.count();
  const auto all = static_cast<std::int64_t>(session.trace().moments().size());
  if (page.ring_steps < all)
    page.left_out.push_back("The page shows " + std::to_string(page.ring_steps) + " of " +
                            traces::describeCount(all, "ring step") +
                            "; --from and --until choose others");
  nlohmann::json data = store.toJson();
  data["name"] = session.name().toStdString();
  data["steps"] = steps;
  data["views"] = std::move(views);
  const std::string text = pageText(makeReport(session, recording), store, data, page.left_out);
  page.bytes = static_cast<std::int64_t>(text.size());
  traces::OutputFile file(output);
  file.stream() << text;
  file.finish();
  return page;
}

}  // namespace ringscope::viz
