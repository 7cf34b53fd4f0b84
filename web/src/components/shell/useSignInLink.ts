import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { asApiError } from '@/api/client';
import { exchange, sessionKey } from '@/api/session';
import { takeToken } from '@/lib/fragment';
import { t } from '@/texts';

/** Signs in with the single-use token of the address, on whatever page the link leads to. */
export function useSignInLink() {
  const client = useQueryClient();
  const tried = useRef(false);
  const { mutate } = useMutation({
    mutationFn: exchange,
    onSuccess: async (session) => {
      // The page asked who is signed in when it opened: that answer may come later than this one, and is older.
      await client.cancelQueries({ queryKey: sessionKey });
      client.setQueryData(sessionKey, session);
      notifications.show({ message: t.session.signedIn, color: 'gray' });
    },
    onError: (error) => {
      const { message, hint } = asApiError(error);
      notifications.show({
        title: t.session.linkFailed,
        message: hint ?? message,
        color: 'red',
        autoClose: false,
      });
    },
  });
  useEffect(() => {
    if (tried.current) return;
    tried.current = true;
    const token = takeToken();
    if (token !== null) mutate(token);
  }, [mutate]);
}
