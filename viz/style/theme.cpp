// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/style/theme.h"

#include <QDirIterator>
#include <QFontDatabase>
#include <cmath>

#include "traces/format/schema/names.h"
#include "viz/style/palette.h"

/// Links the bundled fonts into the program. The linker leaves a static library's resources out
/// otherwise, and the macro must stand outside of a namespace.
static void linkFonts() {
  Q_INIT_RESOURCE(fonts);
}

namespace ringscope::viz {
namespace {

Theme makeDark() {
  return {"dark",    "#0E1116", "#151A21", "#1C232C", "#2B343F", "#E8EDF2", "#93A1B0", "#5C6A79",
          "#7CC4F2", "#0E1116", "#5FC9A0", "#F0B45A", "#F2836B", "#F4F6F8", "#16202B", true};
}

Theme makeLight() {
  return {"light",   "#F3F5F7", "#FFFFFF", "#EEF1F4", "#D3DAE1", "#16202B", "#55636F", "#8A97A3",
          "#0B6FB8", "#FFFFFF", "#0B7956", "#9A5B00", "#B5371F", "#FFFFFF", "#16202B", false};
}

Theme makeContrast(bool dark) {
  const QColor ground = dark ? "#000000" : "#FFFFFF", ink = dark ? "#FFFFFF" : "#000000";
  const QColor accent = dark ? "#FFD400" : "#0000C8";
  return {dark ? "contrast-dark" : "contrast-light",
          ground,
          ground,
          ground,
          ink,
          ink,
          ink,
          ink,
          accent,
          ground,
          dark ? QColor("#5FE0B0") : QColor("#00583C"),
          dark ? QColor("#FFC56B") : QColor("#6B3F00"),
          dark ? QColor("#FF9C88") : QColor("#8F1D08"),
          "#FFFFFF",
          "#000000",
          dark};
}

double luminance(const QColor& color) {
  auto linear = [](double c) {
    return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) +
         0.0722 * linear(color.blueF());
}

QFont font(const QString& family, int size, QFont::Weight weight) {
  QFont f(family);
  f.setPixelSize(size);
  f.setWeight(weight);
  f.setHintingPreference(QFont::PreferNoHinting);
  return f;
}

}  // namespace

const std::vector<Theme>& Theme::all() {
  static const std::vector<Theme> kThemes = {makeDark(), makeLight(), makeContrast(true),
                                             makeContrast(false)};
  return kThemes;
}

const Theme& Theme::named(const QString& name) {
  return traces::entryNamed("theme", name.toStdString(), all(),
                            [](const Theme& theme) { return theme.name.toStdString(); });
}

Theme withoutVerdicts(Theme theme) {
  theme.right = theme.wrong = theme.dim;
  return theme;
}

QColor rankColor(traces::WorldRank of) {
  const int rank = std::max(0, of.value());  // whose it is may not be recorded
  static const QColor kColors[] = {"#E69F00", "#56B4E9", "#009E73", "#CC79A7",
                                   "#D55E00", "#0072B2", "#F0E442", "#9AA3AD"};
  const int round = rank / 8;
  const QColor base = kColors[rank % 8];
  return round == 0  ? base
         : round % 2 ? base.lighter(100 + 15 * round)
                     : base.darker(100 + 15 * round);
}

double contrast(const QColor& a, const QColor& b) {
  const double la = luminance(a), lb = luminance(b);
  return (std::max(la, lb) + 0.05) / (std::min(la, lb) + 0.05);
}

void loadFonts() {
  linkFonts();
  QDirIterator fonts(":/fonts");
  while (fonts.hasNext()) QFontDatabase::addApplicationFont(fonts.next());
}

QFont textFont(int size, QFont::Weight weight) {
  return font("Inter", size, weight);
}
QFont monoFont(int size, QFont::Weight weight) {
  return font("JetBrains Mono", size, weight);
}

/// Colours by their names in a theme, after an @.
constexpr const char* kStyleSheet = R"(
    QWidget { color: @text; font-family: "Inter"; font-size: 13px; }
    QMainWindow, QWidget#stage { background: @background; }
    QWidget#panel, QScrollArea, QWidget#panelBody { background: @panel; border: none; }
    QLabel { background: transparent; }
    QLabel#section { color: @dim; font-size: 11px; font-weight: 600; }
    QLabel#dim { color: @dim; font-size: 12px; }
    QLabel#title { font-size: 16px; font-weight: 600; }
    QLabel#hero { font-size: 22px; font-weight: 600; }
    QLabel#clock { font-family: "JetBrains Mono"; font-size: 36px; font-weight: 700; }
    QRadioButton#answer { background: @raised; border: 1px solid @line; border-radius: 6px; padding: 6px 10px; spacing: 10px; min-height: 22px; }
    QRadioButton#answer:checked { border: 1px solid @accent; font-weight: 600; }
    QRadioButton#answer:focus { border: 2px solid @accent; padding: 5px 9px; }
    QRadioButton#answer:disabled { color: @dim; }
    QRadioButton#answer::indicator { width: 11px; height: 11px; border: 1px solid @dim; border-radius: 6px; background: @panel; }
    QRadioButton#answer::indicator:checked { background: @accent; border: 1px solid @accent; }
    QLabel#mono { font-family: "JetBrains Mono"; font-size: 12px; }
    QLabel#differs { color: @text; font-size: 16px; font-weight: 700; padding: 0; }
    QLabel#right { color: @right; font-weight: 600; }
    QLabel#wrong { color: @wrong; font-weight: 600; }
    QComboBox, QSpinBox { background: @raised; border: 1px solid @line; border-radius: 6px; padding: 2px 8px; min-height: 21px; }
    QComboBox::drop-down, QSpinBox::up-button, QSpinBox::down-button { border: none; width: 16px; }
    QComboBox::down-arrow { image: none; }
    *[differs="true"] { border: 1px solid @text; }
    QComboBox:focus, QSpinBox:focus, QPushButton:focus, QToolButton:focus { border: 1px solid @accent; }
    QSpinBox#narrow { padding: 2px 4px; }
    QComboBox:disabled, QSpinBox:disabled, QCheckBox:disabled, QLineEdit:disabled { color: @off; }
    QComboBox QAbstractItemView { background: @raised; border: 1px solid @line; selection-background-color: @accent; selection-color: @onaccent; }
    QPushButton { background: @raised; border: 1px solid @line; border-radius: 6px; padding: 3px 12px; min-height: 23px; }
    QPushButton:hover, QToolButton:hover { border: 1px solid @dim; }
    QPushButton:disabled, QToolButton:disabled { color: @off; border: 1px dashed @off; background: transparent; }
    QPushButton#primary { background: @accent; border: 1px solid @accent; color: @onaccent; font-weight: 600; }
    QPushButton#primary:disabled { background: transparent; border: 1px dashed @off; color: @off; }
    QPushButton#primary:focus { border: 2px solid @text; }
    QToolButton { background: @raised; border: 1px solid @line; border-radius: 6px; min-width: 30px; min-height: 27px; }
    QToolButton:checked { background: @accent; color: @onaccent; border: 1px solid @accent; }
    QToolButton:checked:focus { border: 2px solid @text; }
    QToolButton:checked:disabled { background: transparent; color: @off; border: 1px dashed @off; }
    QToolButton#tab { background: transparent; border: none; border-bottom: 2px solid transparent; border-radius: 0; color: @dim; padding: 0 1px; min-height: 34px; }
    QToolButton#tab:checked { color: @text; border-bottom: 2px solid @accent; font-weight: 600; }
    QToolButton#tab:disabled { color: @off; border: none; }
    QToolButton#tab:focus { color: @accent; }
    QToolButton#compact { font-size: 12px; min-width: 0; min-height: 0; padding: 0; }
    QCheckBox { spacing: 8px; min-height: 24px; }
    QCheckBox::indicator { width: 13px; height: 13px; border: 1px solid @dim; border-radius: 3px; background: @raised; }
    QCheckBox::indicator:checked { background: @accent; border: 1px solid @accent; }
    QCheckBox:focus { color: @accent; }
    QSlider::groove:horizontal { height: 4px; background: @line; border-radius: 2px; }
    QSlider::sub-page:horizontal { background: @accent; border-radius: 2px; }
    QSlider::handle:horizontal { width: 14px; height: 14px; margin: -5px 0; border-radius: 7px; background: @text; }
    QSplitter::handle { background: @line; }
    QSplitter::handle:hover { background: @accent; }
    QSlider:focus { border: none; }
    QSlider::sub-page:horizontal:disabled { background: @line; }
    QSlider::handle:horizontal:disabled { background: @off; }
    QSlider::handle:horizontal:focus { background: @accent; }
    QScrollBar:vertical { background: transparent; width: 8px; }
    QScrollBar::handle:vertical { background: @line; border-radius: 4px; min-height: 24px; }
    QScrollBar::add-line, QScrollBar::sub-line { height: 0; }
    QScrollBar:horizontal { background: transparent; height: 8px; }
    QScrollBar::handle:horizontal { background: @line; border-radius: 4px; min-width: 24px; }
    QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
    QLineEdit { background: @raised; border: 1px solid @line; border-radius: 6px; padding: 3px 8px; }
    QLineEdit:focus { border: 1px solid @accent; }
    QTableView { background: @panel; border: 1px solid @line; border-radius: 6px; selection-background-color: @accent; selection-color: @onaccent; font-size: 12px; }
    QTableView:focus, QListView:focus { border: 1px solid @accent; }
    QHeaderView, QHeaderView::section { background: @raised; color: @dim; border: none; padding: 2px 3px; font-size: 11px; font-weight: 600; }
    QTableCornerButton::section { background: @raised; border: none; }
    QListView, QTreeView { background: @panel; border: 1px solid @line; selection-background-color: @accent; selection-color: @onaccent; }
    QComboBox QAbstractItemView::item:disabled { color: @off; }
    QMenu { background: @panel; border: 1px solid @line; }
    QMenu::item:selected { background: @accent; color: @onaccent; }
    QToolButton::menu-indicator { image: none; }
    QFrame#door { background: @panel; border: 1px solid @line; border-radius: 10px; }
    QLineEdit#line { font-family: "JetBrains Mono"; font-size: 12px; }
    QFrame#card { background: @raised; border: 1px solid @wrong; border-radius: 8px; }
    QFrame#palette { background: @panel; border: 1px solid @dim; border-radius: 8px; }
    QListView#evidence { background: @background; border: 1px solid @line; border-radius: 6px; font-size: 12px; }
    QListView#evidence:focus { border: 1px solid @accent; }
    QListView#cards { background: @background; border: 1px solid transparent; }
    QListView#cards:focus { border: 1px solid @accent; }
    QTextBrowser, QPlainTextEdit { background: @panel; border: 1px solid @line; border-radius: 6px; selection-background-color: @accent; selection-color: @onaccent; }
    QTextBrowser:focus, QPlainTextEdit:focus { border: 1px solid @accent; }
    QPushButton#picker { text-align: left; padding: 3px 8px; min-height: 21px; }
    QGraphicsView { background: @background; border: none; }
    QDialog { background: @panel; }
    QToolTip { background: @raised; color: @text; border: 1px solid @line; padding: 4px; }
    QMessageBox { background: @panel; }
  )";

QString themeStyleSheet(const Theme& t, double zoom) {
  QString sheet = kStyleSheet;
  const std::pair<const char*, QColor> tokens[] = {{"@background", t.background},
                                                   {"@onaccent", t.on_accent},
                                                   {"@off", disabledColor(t)},
                                                   {"@panel", t.panel},
                                                   {"@raised", t.raised},
                                                   {"@line", t.line},
                                                   {"@text", t.text},
                                                   {"@dim", t.dim},
                                                   {"@faint", t.faint},
                                                   {"@accent", t.accent},
                                                   {"@right", t.right},
                                                   {"@wait", t.wait},
                                                   {"@wrong", t.wrong}};
  for (const auto& [token, color] : tokens) sheet.replace(token, color.name());
  for (const int size : {11, 12, 13, 16, 22, 36})
    sheet.replace(QString("font-size: %1px").arg(size),
                  QString("font-size: %1 px").arg(std::lround(size * zoom)));
  sheet.replace(" px;", "px;");
  return sheet;
}

}  // namespace ringscope::viz
