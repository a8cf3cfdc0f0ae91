// Defines _exit, _Exit and daemon, which note that the process ends by its own will. They keep their names, so nothing is
// declared here.
#ifndef CPROCESSENDS_H
#define CPROCESSENDS_H
#endif
