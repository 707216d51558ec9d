import type { LabelSelector, ObjectMeta } from 'kubernetes-types/meta/v1.js';

/* What deploy/kubernetes and the alerts may have of https://prometheus-operator.dev/docs/api-reference/api/. */

interface Resource<Kind extends string, Spec> {
  apiVersion: 'monitoring.coreos.com/v1';
  kind: Kind;
  metadata: ObjectMeta;
  spec: Spec;
}

export type PodMonitor = Resource<
  'PodMonitor',
  { jobLabel?: string; selector: LabelSelector; podMetricsEndpoints?: { port?: string; path?: string }[] }
>;

interface Rule {
  alert: string;
  expr: string;
  for?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

export type PrometheusRule = Resource<
  'PrometheusRule',
  { groups: { name: string; interval?: string; rules: Rule[] }[] }
>;
