// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/style/palette.h"

namespace ringscope::viz {

QColor disabledColor(const Theme& theme) {
  if (theme.faint != theme.text) return theme.faint;
  return theme.is_dark ? QColor("#8A8A8A") : QColor("#707070");
}

QPalette makePalette(const Theme& theme) {
  QPalette palette;
  const std::pair<QPalette::ColorRole, QColor> roles[] = {
      {QPalette::Window, theme.panel},        {QPalette::WindowText, theme.text},
      {QPalette::Base, theme.panel},          {QPalette::AlternateBase, theme.raised},
      {QPalette::Text, theme.text},           {QPalette::Button, theme.raised},
      {QPalette::ButtonText, theme.text},     {QPalette::BrightText, theme.text},
      {QPalette::Highlight, theme.accent},    {QPalette::HighlightedText, theme.on_accent},
      {QPalette::ToolTipBase, theme.raised},  {QPalette::ToolTipText, theme.text},
      {QPalette::PlaceholderText, theme.dim}, {QPalette::Link, theme.accent},
      {QPalette::LinkVisited, theme.accent},  {QPalette::Light, theme.raised},
      {QPalette::Midlight, theme.raised},     {QPalette::Mid, theme.line},
      {QPalette::Dark, theme.line},           {QPalette::Shadow, theme.background},
  };
  for (const auto& [role, color] : roles) palette.setColor(role, color);
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
    palette.setColor(QPalette::Disabled, role, disabledColor(theme));
  return palette;
}

}  // namespace ringscope::viz
