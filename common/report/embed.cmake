# Fills page.html with the styles and the scripts, and makes a string of C++ of it.
cmake_minimum_required(VERSION 3.25)
file(READ ${UPLOT}/LICENSE UPLOT_LICENSE)
file(READ ${UPLOT}/uPlot.min.css UPLOT_CSS)
file(READ ${UPLOT}/uPlot.iife.min.js UPLOT_JS)
file(READ ${HERE}/page.css PAGE_CSS)
file(READ ${HERE}/page.js PAGE_JS)
file(READ ${HERE}/page.html PAGE_HTML)
string(CONFIGURE "${PAGE_HTML}" page @ONLY)
file(WRITE ${OUTPUT} "#include \"common/report/frame.h\"\n\nnamespace lambda::report {\n\n"
     "const char* const kFrame = R\"~~~(${page})~~~\";\n\n}  // namespace lambda::report\n")
