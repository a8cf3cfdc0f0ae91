// Includes all headers of this module. They declare every C function that crash code in Swift may call. The compiler
// rejects other functions in crash code, because they lack the mark of pm_annotations.h. The functions in pm_program.h
// have this mark too, but they are for code outside a crash, and crash code must not call them.
#ifndef CSIGNALSAFE_H
#define CSIGNALSAFE_H

#include <stdint.h>
#ifndef __GLIBC__
#error "swift-postmortem handles crashes on Linux with glibc: with Musl, build with POSTMORTEM_PLATFORM=unsupported"
#endif

#include "pm_annotations.h"
#include "pm_atomic.h"
#include "pm_client.h"
#include "pm_constants.h"
#include "pm_context.h"
#include "pm_control.h"
#include "pm_entry_stacks.h"
#include "pm_handlers.h"
#include "pm_identity.h"
#include "pm_install.h"
#include "pm_open_contexts.h"
#include "pm_process_end.h"
#include "pm_program.h"
#include "pm_signal_masks.h"
#include "pm_state.h"
#include "pm_system_calls.h"
#include "pm_thread_base.h"
#include "pm_thread_start.h"
#include "pm_throws.h"
#include "pm_told_stacks.h"
#include "pm_work.h"

#endif
