# SPDX-License-Identifier: Apache-2.0
# cmake -DFOLDER=… -DOUTPUT=… -P EmbedExplanations.cmake: writes a C++ source with the text of each
# FOLDER/<id>.md, so that programs need no text files at run time.
file(GLOB files ${FOLDER}/*.md)
set(source "// SPDX-License-Identifier: Apache-2.0
#include \"traces/analysis/mistakes/explanation.h\"

namespace ringscope::traces {

const std::map<std::string, std::string>& explanationTexts() {
  static const std::map<std::string, std::string> kTexts = {\n")
foreach(file IN LISTS files)
  get_filename_component(id ${file} NAME_WE)
  file(READ ${file} text)
  string(APPEND source "      {\"${id}\", R\"markdown(${text})markdown\"},\n")
endforeach()
string(APPEND source "  };
  return kTexts;
}

}  // namespace ringscope::traces\n")
file(WRITE ${OUTPUT} "${source}")
