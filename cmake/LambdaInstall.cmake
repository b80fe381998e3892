# `cmake --install`: the programs, systemd's units, bash's completion, and the settings to begin with.
include(GNUInstallDirs)

install(TARGETS lambda-ftp lambda-ftpd RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES README.md CHANGELOG.md LICENSE config/server.yaml config/client.yaml config/replicate.yaml
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md")
install(FILES config/completion.bash RENAME lambda-ftp DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)

# These name the programs by where they are installed.
function(install_naming_programs file destination)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS config/${file})
    file(READ config/${file} text)
    string(REPLACE /usr/local/bin ${CMAKE_INSTALL_FULL_BINDIR} text "${text}")
    file(WRITE ${CMAKE_BINARY_DIR}/install/${file} "${text}")
    install(FILES ${CMAKE_BINARY_DIR}/install/${file} DESTINATION ${destination})
endfunction()
foreach(unit lambda-ftpd.service lambda-replicate@.service lambda-replicate@.timer)
    install_naming_programs(${unit} lib/systemd/system)
endforeach()
install_naming_programs(replicate.cron ${CMAKE_INSTALL_DOCDIR})
