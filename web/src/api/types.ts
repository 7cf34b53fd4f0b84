/** Short names for the generated schema's models. */
import type { components } from '@/api/schema';

type Schemas = components['schemas'];

export type Approval = Schemas['ApprovalRecord'];
export type Attempt = Schemas['AttemptRecord'];
export type Decision = Schemas['Decision'];
export type DrillReport = Schemas['DrillReport'];
export type DrillSpan = Schemas['DrillSpan'];
export type DrillSummary = Schemas['DrillSummary'];
export type Fault = Schemas['FaultRecord'];
export type GuardVerdict = Schemas['GuardVerdict'];
export type Halt = Schemas['Halt'];
export type HaltRequest = Schemas['HaltRequest'];
export type Headline = Schemas['Headline'];
export type HistoryPoint = Schemas['HistoryPoint'];
export type Incident = Schemas['Incident'];
export type IncidentDetail = Schemas['IncidentDetail'];
export type JournalLine = Schemas['JournalLine'];
export type NodeCell = Schemas['NodeCell'];
export type Overview = Schemas['OverviewView'];
export type ProbeReport = Schemas['ProbeReport'];
export type Readings = Schemas['Readings'];
export type ReplicaCell = Schemas['ReplicaCell'];
export type Run = Schemas['Run'];
export type RunDetail = Schemas['RunDetail'];
export type RunSummary = Schemas['RunSummary'];
export type Session = Schemas['SessionView'];
export type SourceState = Schemas['SourceState'];
export type StepRecord = Schemas['StepRecord'];
export type TimelineEntry = Schemas['TimelineEntry'];
export type UndoView = Schemas['UndoView'];
export type ZoneCell = Schemas['ZoneCell'];
