import { Table } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './DataTable.module.css';

export type Column<T> = {
  key: string;
  title: string;
  cell: (row: T) => ReactNode;
  /** Right-aligned with tabular figures. */
  numeric?: boolean;
  /** Left out on a narrow screen, where the row must still say what it is. */
  wide?: boolean;
};

type Props<T> = { label: string; columns: Column<T>[]; rows: readonly T[]; rowKey: (row: T) => string };

/** A real table, so that it can be read by row and column. */
export function DataTable<T>({ label, columns, rows, rowKey }: Props<T>) {
  const style = (column: Column<T>) =>
    [column.numeric && 'num', column.wide && classes.wide].filter(Boolean).join(' ');
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms, and a landmark each would be too many
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <div role="group" className={classes.scroll} aria-label={label} tabIndex={0}>
      <Table
        verticalSpacing={7}
        horizontalSpacing="md"
        highlightOnHover
        highlightOnHoverColor="var(--fw-hover)"
      >
        <Table.Thead>
          <Table.Tr>
            {columns.map((column) => (
              <Table.Th key={column.key} className={style(column)} scope="col">
                {column.title}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => (
            <Table.Tr key={rowKey(row)}>
              {columns.map((column) => (
                <Table.Td key={column.key} className={style(column)}>
                  {column.cell(row)}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  );
}
