// This target defines versions of _exit, _Exit and daemon that note that the process exits. The system's headers
// declare these functions, so nothing is declared here.
#ifndef CPROCESSENDS_H
#define CPROCESSENDS_H
#endif
