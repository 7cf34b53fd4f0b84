import { api, body } from '@/api/client';
import type { HaltRequest } from '@/api/types';

export const halt = (request: HaltRequest) => body(api.POST('/api/v1/halts', { body: request }));

export const lift = (id: string) =>
  body(api.DELETE('/api/v1/halts/{halt_id}', { params: { path: { halt_id: id } } }));
