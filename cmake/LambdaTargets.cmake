# One target for each room of the house. The link line is the dependency rule: a room sees the
# headers of those rooms alone that its target links.
add_library(lambda_options INTERFACE)
target_compile_options(lambda_options INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor
    -Wold-style-cast -Woverloaded-virtual -Werror)
target_include_directories(lambda_options INTERFACE ${CMAKE_SOURCE_DIR})
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(lambda_options INTERFACE -fcoroutines)
endif()
if(LAMBDA_SANITIZE)
    target_compile_options(lambda_options INTERFACE -fsanitize=${LAMBDA_SANITIZE} -fno-omit-frame-pointer)
    target_link_options(lambda_options INTERFACE -fsanitize=${LAMBDA_SANITIZE})
endif()
if(LAMBDA_FUZZ)
    target_compile_options(lambda_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# Under a sanitizer only what works for each packet is optimised: with UBSan that costs a compiler
# three times as much.
set(lambda_hot_rooms base sabul transfer engine)
function(lambda_compile_fast target)
    if(LAMBDA_SANITIZE AND NOT LAMBDA_FUZZ)
        target_compile_options(${target} PRIVATE -O0)
    endif()
endfunction()

# lambda_room(NAME LINKS...): the static library lambda_NAME from every .cpp below this folder.
function(lambda_room name)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
    list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
    if(sources)
        add_library(lambda_${name} STATIC ${sources})
        target_link_libraries(lambda_${name} PUBLIC lambda_options ${ARGN})
        if(NOT name IN_LIST lambda_hot_rooms)
            lambda_compile_fast(lambda_${name})
        endif()
    else()
        add_library(lambda_${name} INTERFACE)
        target_link_libraries(lambda_${name} INTERFACE lambda_options ${ARGN})
    endif()
endfunction()
