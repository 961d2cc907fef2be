# cmake -DFROM=file -DTO=file.cc -DHEADER=header.h -DNAME=kalstream::serve::openapi_json -P PackText.cmake: a function that
# gives the text of a file. In pieces, since a compiler takes no literal of any length.
file(READ ${FROM} text)
string(LENGTH "${text}" length)
set(pieces "")
set(at 0)
while(at LESS length)
  string(SUBSTRING "${text}" ${at} 8000 piece)
  string(APPEND pieces "  R\"packed(${piece})packed\"\n")
  math(EXPR at "${at} + 8000")
endwhile()
file(WRITE ${TO} "#include \"${HEADER}\"\n\nstd::string_view ${NAME}() {\n  return\n${pieces}  ;\n}\n")
