# Writes a manual page from what a program says about itself: cmake -DPAGE=FILE.1 ... -P ManualPage.cmake
#   cleave-program.1   compiled programs, -DREFERENCE=docs/reference/program.md: their --help (test/docs/reference.test compares the two)
#   cleave-opt.1       -DPROGRAM=cleave-opt -DSOURCE=DIR: its --help for the passes that Passes.td files in DIR declare, without MLIR's
# cleave.1 is written by `cleave manual`.
cmake_minimum_required(VERSION 3.25)

# troff reads a leading dot or quote as a command, and '-' as a hyphen.
function(escape_troff variable)
  string(REPLACE "\\" "\\e" text "${${variable}}")
  string(REPLACE "-" "\\-" text "${text}")
  string(REGEX REPLACE "(^|\n)([.'])" "\\1\\\\&\\2" text "${text}")
  set(${variable} "${text}" PARENT_SCOPE)
endfunction()

# The text of --help, with a column of names of 30 characters, as sections and paragraphs.
function(write_reference)
  file(READ "${REFERENCE}" text)
  string(REGEX REPLACE "^.*\n(## \\./model\n)" "\\1" text "${text}")
  string(REGEX REPLACE "\n                              " "\n" text "${text}")
  escape_troff(text)
  string(REGEX REPLACE "\n  ([^ \n]+( [^ \n]+)*)   *([^\n]+)" "\n.TP\n.B \\1\n\\3" text "${text}")
  string(REGEX REPLACE "\n  ([^ \n]+( [^ \n]+)*)" "\n.TP\n.B \\1" text "${text}")
  string(REGEX REPLACE "\n([A-Z][A-Za-z ]*):\n" "\n.SS \"\\1\"\n" text "${text}")
  string(REGEX REPLACE "(^|\n)## \\./([^\n]*)\n" "\\1.SH \"\\2\"\n" text "${text}")
  string(REGEX REPLACE "\n```[a-z]*" "" text "${text}")
  string(REPLACE "\nUsage: " "\n.PP\nUsage: " text "${text}")
  string(REGEX REPLACE "\n\n+" "\n" text "${text}")
  file(WRITE "${PAGE}" ".TH CLEAVE\\-PROGRAM 1 \"\" \"cleave\" \"User Commands\"
.SH NAME
cleave\\-program \\- a program that cleave compile has written, here under the name model
.SH SYNOPSIS
.B ./model
\\fICOMMAND\\fR [\\fIOPTIONS\\fR]
${text}.SH \"SEE ALSO\"
.BR cleave (1).
The guides in share/doc/cleave.
")
endfunction()

function(write_passes)
  execute_process(COMMAND "${PROGRAM}" --help OUTPUT_VARIABLE help COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX REPLACE "^.*\n *Passes:\n" "" help "${help}") # in one line each: "  --NAME   -   DESCRIPTION"
  file(GLOB_RECURSE declarations "${SOURCE}/compiler/Passes.td" "${SOURCE}/compiler/*/Passes.td" "${SOURCE}/dialects/*/Passes.td")
  set(names "")
  foreach(file IN LISTS declarations)
    file(STRINGS "${file}" lines REGEX "Pass<\"[a-z0-9-]+\"")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE ".*Pass<\"([a-z0-9-]+)\".*" "\\1" name "${line}")
      list(APPEND names ${name})
    endforeach()
  endforeach()
  list(SORT names)
  list(REMOVE_DUPLICATES names)
  set(passes "")
  foreach(name IN LISTS names)
    if(NOT "${help}" MATCHES "\n +--${name} +- +([^\n]*)")
      message(FATAL_ERROR "${PROGRAM} --help has no pass ${name}")
    endif()
    set(entry "--${name}")
    set(summary "${CMAKE_MATCH_1}")
    escape_troff(entry)
    escape_troff(summary)
    string(APPEND passes ".TP\n.B ${entry}\n${summary}\n")
  endforeach()
  file(WRITE "${PAGE}" ".TH CLEAVE\\-OPT 1 \"\" \"cleave\" \"User Commands\"
.SH NAME
cleave\\-opt \\- run passes of Cleave on a program in the text form of MLIR
.SH SYNOPSIS
.B cleave\\-opt
[\\fIOPTIONS\\fR] \\fIFILE\\fR
.SH DESCRIPTION
It reads FILE, runs the passes in the order in which they are named, checks the program after each pass, and prints the result.
.TP
.B \\-o \\fIFILE\\fR
Write the result to FILE.
.TP
.B \\-\\-pass\\-pipeline=\\fIPIPELINE\\fR
Run a pipeline, such as builtin.module(NAME{option=value}). It is an alternative to the names of passes as options.
.TP
.B \\-\\-load\\-pass\\-plugin=\\fIFILE\\fR
Load a plug\\-in: its passes, operators and dialects.
.SH PASSES
${passes}.PP
Passes of MLIR, options of passes, and options for debugging: cleave\\-opt \\-\\-help.
.SH \"SEE ALSO\"
.BR cleave (1).
The guides in share/doc/cleave.
")
endfunction()

if(REFERENCE)
  write_reference()
else()
  write_passes()
endif()
