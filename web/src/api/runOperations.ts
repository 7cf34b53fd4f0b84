import { api, body } from '@/api/client';

/** What people do with a run. Each is recorded with who did it and the reason they gave. */
export const operations = {
  approve: (id: string, comment: string) =>
    body(api.POST('/api/v1/runs/{run_id}/approve', { ...path(id), body: { comment } })),
  reject: (id: string, comment: string) =>
    body(api.POST('/api/v1/runs/{run_id}/reject', { ...path(id), body: { comment } })),
  pause: (id: string, reason: string) =>
    body(api.POST('/api/v1/runs/{run_id}/pause', { ...path(id), body: { reason } })),
  continue: (id: string, reason: string) =>
    body(api.POST('/api/v1/runs/{run_id}/continue', { ...path(id), body: { reason } })),
  cancel: (id: string, reason: string) =>
    body(api.POST('/api/v1/runs/{run_id}/cancel', { ...path(id), body: { reason, undo: true } })),
  retry: (id: string, reason: string) =>
    body(api.POST('/api/v1/runs/{run_id}/retry', { ...path(id), body: { reason } })),
  undo: (id: string, reason: string) =>
    body(api.POST('/api/v1/runs/{run_id}/undo', { ...path(id), body: { reason } })),
};

export type Operation = keyof typeof operations;

const path = (id: string) => ({ params: { path: { run_id: id } } });
