# Writes the commit of the sources, and whether what is built had been changed since, into the
# package: {"revision": "...", "modified": false}. Both are null if SOURCE_DIR is no git tree of its
# own. Runs when the package is installed, which pip does after each build.
set(revision null)
set(modified null)
find_program(GIT git)
if(GIT)
  execute_process(COMMAND ${GIT} rev-parse --show-toplevel HEAD WORKING_DIRECTORY "${SOURCE_DIR}"
    OUTPUT_VARIABLE answer RESULT_VARIABLE failed ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT failed AND answer MATCHES "^(.*)\n([0-9a-f]+)$")
    set(commit "${CMAKE_MATCH_2}")
    file(REAL_PATH "${CMAKE_MATCH_1}" tree)
    file(REAL_PATH "${SOURCE_DIR}" sources)
    if(tree STREQUAL sources)
      execute_process(
        COMMAND ${GIT} status --porcelain -- src python third_party CMakeLists.txt pyproject.toml
        WORKING_DIRECTORY "${SOURCE_DIR}" OUTPUT_VARIABLE changes)
      set(revision "\"${commit}\"")
      set(modified false)
      if(changes)
        set(modified true)
      endif()
    endif()
  endif()
endif()
file(WRITE "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/${LIBRARY_DIR}/revision.json"
  "{\"revision\": ${revision}, \"modified\": ${modified}}\n")
